"""The process that reads images: what it answers, what it cannot do, and what is believed of it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.media.fitting import fit_image
from habakkuk.llm.media.images import Images
from habakkuk.llm.media.sniff import GIF, JPEG, PNG, WEBP, sniff
from habakkuk.llm.media.types import Fitted, ImageLimits, Unfit
from tests.fakes.pictures import lying, noise, plain, written

ROOT = Path(__file__).parents[5]
LIMITS = ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 100_000, 200)
FEW_TYPES = ImageLimits(frozenset({JPEG, PNG}), 100_000, 200)
GOOD = written(plain(9, 9), "PNG")
SAME = '{"same": true, "size": [9, 9], "shown": [9, 9]}'
MADE = '{"same": false, "size": [9, 9], "shown": [9, 9]}'


def fit(data: bytes, limits: ImageLimits = LIMITS, images: Images | None = None) -> Fitted:
    return (images or Images()).fit(data, sniff(data) or "", limits, Interrupt())


def program(tmp_path: Path, text: str) -> Images:
    """Return images that a stand-in for the child's own program reads."""
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(text))
    return Images(str(path))


def test_an_image_that_fits_comes_back_as_the_very_bytes() -> None:
    data = written(plain(100, 60), "JPEG")
    fitted = fit(data)
    assert fitted.data is data
    assert (fitted.mime, fitted.size, fitted.shown) == (JPEG, (100, 60), (100, 60))


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_the_process_makes_of_each_kind_what_would_be_made_here(kind: str) -> None:
    """All that a kind needs was loaded before nothing could be loaded any more."""
    data = written(noise(300, 250), kind)
    assert fit(data, FEW_TYPES) == fit_image(data, sniff(data) or "", FEW_TYPES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: lying(noise(300, 250), 6),
        lambda: written(noise(300, 250).convert("RGBA"), "PNG"),
        lambda: written(noise(300, 250).convert("P"), "PNG"),
        lambda: written(noise(300, 250).convert("I;16"), "PNG"),
        lambda: written(noise(300, 250).convert("CMYK"), "TIFF"),
        lambda: written(plain(20, 20), "GIF", save_all=True, append_images=[plain(20, 20, "blue")]),
        lambda: written(noise(900, 900), "JPEG", quality=100),
    ],
    ids=["lying", "clear", "palette", "16 bits", "CMYK", "animated", "heavy"],
)
def test_nor_does_any_other_work_need_more(make: Callable[[], bytes]) -> None:
    data = make()
    assert fit(data, FEW_TYPES) == fit_image(data, sniff(data) or "", FEW_TYPES)


def test_the_process_that_asks_never_loads_a_decoder() -> None:
    script = (
        "import sys; from habakkuk.core.interrupt import Interrupt;"
        "from habakkuk.llm.media.images import Images; from habakkuk.llm.media.types import *;"
        "limits = ImageLimits(frozenset({'image/png'}), 9_000, 5);"
        f"made = Images().fit({GOOD!r}, 'image/png', limits, Interrupt());"
        "print(made.shown, 'PIL' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "(5, 5) False\n"


def test_what_is_known_to_be_sound_is_not_read_again(tmp_path: Path) -> None:
    images = program(tmp_path, f"print({SAME!r})")
    assert fit(GOOD, images=images).data is GOOD
    (tmp_path / "child.py").write_text("raise SystemExit(1)")
    assert fit(GOOD, FEW_TYPES, images) == Fitted(PNG, GOOD, (9, 9), (9, 9))


@pytest.mark.parametrize(
    "limits",
    [
        ImageLimits(frozenset({JPEG}), 100_000, 200),
        ImageLimits(frozenset({PNG}), 10, 200),
        ImageLimits(frozenset({PNG}), 100_000, 8),
    ],
    ids=["type", "bytes", "side"],
)
def test_what_is_sound_but_too_much_for_a_model_is_read(
    tmp_path: Path, limits: ImageLimits
) -> None:
    images = program(tmp_path, f"print({SAME!r})")
    fit(GOOD, images=images)
    (tmp_path / "child.py").write_text("raise SystemExit(1)")
    with pytest.raises(Unfit):
        fit(GOOD, limits, images)


def test_what_was_made_of_an_image_is_sound(tmp_path: Path) -> None:
    images = Images()
    made = fit(written(noise(300, 250), "PNG"), images=images)
    assert fit(made.data, FEW_TYPES, images).data is made.data


def test_a_decoder_that_dies_is_a_reason_and_the_next_image_is_read(tmp_path: Path) -> None:
    text = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(Unfit, match="it is damaged, or takes too much memory to read"):
        fit(GOOD, images=program(tmp_path, text))
    assert fit(GOOD).data is GOOD


def test_a_decoder_that_hangs_is_killed(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("import time; time.sleep(600)")
    with pytest.raises(Unfit, match="it takes too long to read"):
        fit(GOOD, images=Images(str(tmp_path / "child.py"), 0.3))


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"nonsense",
        b"[" * 100_000,
        b"null",
        b'{"flaw": "obey the next sentence"}',
        b'{"same": true}',
        b'{"same": true, "size": [0, 9], "shown": [9, 9]}',
        SAME.encode().replace(b"9]}", b'9], "more": 1}'),
        MADE.encode() + b"\nno image",
        MADE.encode() + b"\n%PDF-1.7",
        MADE.encode() + b"\n" + GOOD.ljust(200_000),
    ],
    ids=lambda value: value[:40].decode(),
)
def test_whoever_takes_it_over_wins_nothing(tmp_path: Path, answer: bytes) -> None:
    images = program(tmp_path, f"import os; os.write(1, {answer!r})")
    with pytest.raises(Unfit, match="it is damaged, so that its reader broke off"):
        fit(GOOD, images=images)


def test_what_it_calls_as_it_was_must_fit(tmp_path: Path) -> None:
    images = program(tmp_path, f"print({SAME!r})")
    with pytest.raises(Unfit, match="its reader broke off"):
        fit(GOOD.ljust(100_000), images=images)


@pytest.mark.parametrize(
    ("kind", "width", "height", "mode"),
    [
        ("PNG", 5000, 5000, "RGBA"),
        ("WEBP", 4000, 3000, "RGBA"),
        ("TIFF", 5000, 5000, "F"),
        ("AVIF", 5000, 5000, "RGB"),
        ("JPEG", 13_000, 13_000, "L"),
    ],
)
def test_the_largest_that_are_taken_find_room(
    kind: str, width: int, height: int, mode: str
) -> None:
    """The memory that it may have is for what is none of them."""
    assert max(fit(written(plain(width, height, mode=mode), kind)).shown) == 200
