"""Images in the size that a model takes."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageOps, ImageStat

from habakkuk.llm.media.fitting import fit_image
from habakkuk.llm.media.sniff import GIF, JPEG, PNG, WEBP, sniff
from habakkuk.llm.media.types import Fitted, ImageLimits, Unfit, encoded_size
from tests.fakes.pictures import jpeg_of, lying, noise, opened, plain, png_of, quarters, written

LIMITS = ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 100_000, 200)
FEW_TYPES = ImageLimits(frozenset({JPEG, PNG}), 100_000, 200)


def fit(data: bytes, limits: ImageLimits = LIMITS) -> Fitted:
    return fit_image(data, sniff(data) or "", limits)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP"])
def test_an_image_that_fits_is_sent_byte_for_byte(kind: str) -> None:
    data = written(plain(100, 60), kind)
    assert fit(data).data == data


def test_a_wide_image_is_scaled_to_the_longest_side() -> None:
    assert opened(fit(written(plain(1000, 500), "JPEG")).data).size == (200, 100)


def test_a_heavy_image_is_made_light_enough() -> None:
    tight = ImageLimits(LIMITS.types, 6000, 200)
    payload = fit(written(noise(200, 200), "JPEG", quality=95), tight)
    assert payload.mime == JPEG
    assert encoded_size(payload.data) <= 6000
    assert sniff(payload.data) == JPEG


def test_a_screenshot_stays_a_png() -> None:
    assert fit(written(plain(1000, 500), "PNG")).mime == PNG


def test_transparency_is_kept_where_the_result_is_small() -> None:
    payload = fit(written(Image.new("RGBA", (400, 400), (255, 0, 0, 128)), "PNG"))
    assert payload.mime == PNG
    assert opened(payload.data).getpixel((5, 5)) == (255, 0, 0, 128)


def test_transparency_becomes_white_where_only_a_jpeg_is_small_enough() -> None:
    clear = noise(150, 150).convert("RGBA")
    clear.paste((0, 0, 0, 0), (0, 0, 48, 48))
    payload = fit(written(clear, "PNG"), ImageLimits(LIMITS.types, 5000, 200))
    assert payload.mime == JPEG
    assert opened(payload.data).getpixel((5, 5)) == (255, 255, 255)


def test_a_photo_is_stood_upright() -> None:
    # EXIF 2.3, tag 0x0112: 6 is a camera held on its right side.
    payload = fit(lying(plain(100, 60), 6))
    assert opened(payload.data).size == (60, 100)
    assert opened(payload.data).getexif().get(0x0112, 1) == 1


def test_of_a_moving_picture_the_first_frame_is_sent() -> None:
    data = written(
        plain(50, 50, "red"), "GIF", save_all=True, append_images=[plain(50, 50, "blue")]
    )
    picture = opened(fit(data).data).convert("RGB")
    assert picture.getpixel((5, 5)) == (255, 0, 0)
    assert not getattr(picture, "is_animated", False)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_a_type_that_a_service_does_not_take_is_written_anew(kind: str) -> None:
    assert fit(written(plain(50, 50), kind), FEW_TYPES).mime in {JPEG, PNG}


def test_what_must_be_made_smaller_anyway_is_made_as_small_as_is_wanted() -> None:
    limits = ImageLimits(LIMITS.types, 100_000, 200, scaled_side=150)
    fitting, large = fit(written(plain(200, 100), "PNG"), limits), written(plain(202, 101), "PNG")
    assert (fitting.size, fitting.shown) == ((200, 100), (200, 100))
    assert (fit(large, limits).size, fit(large, limits).shown) == ((202, 101), (150, 75))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "CMYK", "I;16", "F"])
def test_every_kind_of_pixel_can_be_sent(mode: str) -> None:
    kind = "TIFF" if mode in {"CMYK", "F"} else "PNG"
    payload = fit(written(noise(300, 300, "L").convert(mode), kind))
    assert max(opened(payload.data).size) == 200


def test_sixteen_bits_keep_their_shades() -> None:
    grey = Image.new("I;16", (300, 300), 32_768)
    assert opened(fit(written(grey, "PNG")).data).convert("L").getpixel((5, 5)) == 128


def test_a_very_long_image_keeps_at_least_a_pixel() -> None:
    assert opened(fit(written(plain(1, 3000), "PNG")).data).size == (1, 200)


def test_the_same_image_gives_the_same_bytes() -> None:
    data = written(noise(500, 400), "JPEG")
    assert fit(data) == fit(data)


def test_a_cut_image_is_refused_though_its_head_is_good() -> None:
    data = written(noise(100, 100), "JPEG")
    with pytest.raises(Unfit, match="damaged"):
        fit(data[: len(data) // 2])


def test_bytes_that_only_begin_like_an_image_are_refused() -> None:
    with pytest.raises(Unfit, match="damaged or no image"):
        fit(b"\x89PNG\r\n\x1a\n" + b"\x00" * 50)


def test_an_image_of_absurd_size_is_not_unpacked() -> None:
    # 30,000 by 30,000 pixels of one colour: a hundred kilobytes that would fill 2.7 GB.
    with pytest.raises(Unfit, match="too many pixels"):
        fit(png_of(30_000, 30_000))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (png_of(5001, 5000), "too many pixels"),
        (png_of(5000, 5000), "damaged"),
        (jpeg_of(5001, 5000, colours_in_first_scan=1), "too many pixels"),
        (jpeg_of(5000, 5000, colours_in_first_scan=1), "damaged"),
        (jpeg_of(5001, 5000, progressive=True), "too many pixels"),
    ],
)
def test_what_is_unpacked_as_a_whole_has_25_million_pixels_at_most(
    data: bytes, reason: str
) -> None:
    # None of them has the pixels that its head speaks of: what is let in turns out damaged.
    with pytest.raises(Unfit, match=reason):
        fit(data)


@pytest.mark.parametrize(
    ("mode", "width", "height", "kind"),
    [("RGBA", 5000, 5000, "PNG"), ("P", 5000, 5000, "PNG"), ("L", 2600, 33_000, "JPEG")],
)
def test_memory_stays_within_bounds_whatever_the_image(
    tmp_path: Path, mode: str, width: int, height: int, kind: str
) -> None:
    file = tmp_path / "image"
    Image.new(mode, (width, height)).save(file, kind)
    done = subprocess.run(
        [sys.executable, "-c", _GROWTH, str(file)],
        cwd=Path(__file__).parents[5],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) < 220_000_000


_GROWTH = """
import resource, sys
from pathlib import Path
from PIL import Image, ImageChops, ImageOps, ImageStat
from habakkuk.llm.media.fitting import fit_image
from habakkuk.llm.media.sniff import JPEG, PNG, sniff
from habakkuk.llm.media.types import ImageLimits
Image.init()
data = Path(sys.argv[1]).read_bytes()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
limits = ImageLimits(frozenset({JPEG, PNG}), 5_000_000, 2000)
fit_image(data, sniff(data), limits)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_strips_leave_no_seams(mode: str) -> None:
    picture = noise(1500, 1400, "RGB").convert(mode)
    whole = picture.resize((200, 187), Image.Resampling.LANCZOS)
    sent = opened(fit(written(picture, "PNG")).data)
    assert sent.tobytes() == whole.tobytes()


@pytest.mark.parametrize("orientation", range(2, 9))
def test_every_way_to_lie_is_stood_upright(orientation: int) -> None:
    # Quarters of four colours, as wide as high: only the colours tell where they went.
    data = lying(quarters(64), orientation)
    sent, upright = opened(fit(data).data), ImageOps.exif_transpose(opened(data))
    off = ImageChops.difference(sent.convert("RGB"), upright.convert("RGB"))
    assert max(ImageStat.Stat(off).mean) < 5


# Pillow warns of some that it reads all the same.
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF"])
def test_broken_files_of_every_kind_are_refused_or_sent_never_more(kind: str) -> None:
    chance = random.Random(7)
    whole = written(noise(40, 40), kind)
    for _ in range(60):
        broken = bytearray(whole[: chance.randrange(20, len(whole))])
        broken[chance.randrange(12, len(broken))] = chance.randrange(256)
        try:
            payload = fit(bytes(broken))
        except Unfit:
            continue
        assert payload.data
