"""view_image: what is shown, how large, and what is refused."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from habakkuk.core.config.schema import PermissionMode
from habakkuk.llm.types import Media
from habakkuk.tools.contract import ToolContext, ToolOutput
from habakkuk.tools.core.view_image import ViewImageArgs, view_image
from habakkuk.tools.files import ShownFiles
from habakkuk.tools.permissions import Verdict, decide
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, page_server, redirect, response
from tests.fakes.pictures import lying, noise, plain, png_of, quarters, written
from tests.fakes.toolbox import MemoryBlobs, call, context, services

WORKSPACE = Path("/srv/agent/workspace")


class Bench:
    """A workspace, a network and the files that were kept."""

    def __init__(self, folder: Path, pages: PageServer) -> None:
        self.folder = folder
        self.pages = pages
        self.blobs = MemoryBlobs()
        network = FakeNetwork(
            pages.port, {"site.example": [[PUBLIC]], "home.example": [["10.0.0.1"]]}
        )
        files = ShownFiles(self.blobs.put)
        self.where: ToolContext = context(folder, services(folder, web=network.web(), files=files))

    def see(self, path: str) -> ToolOutput:
        return call(view_image, self.where, path=path)

    def kept(self, output: ToolOutput) -> tuple[Media, Image.Image, bytes]:
        """Return what a result shows: its reference, the picture and the bytes."""
        (media,) = output.media
        data = self.blobs.stored[media.blob]
        return media, Image.open(io.BytesIO(data)), data


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with page_server() as pages:
        yield Bench(tmp_path, pages)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_that_fits_is_shown_byte_for_byte(bench: Bench, kind: str) -> None:
    data = written(quarters(64), kind)
    (bench.folder / "a.bin").write_bytes(data)
    output = bench.see("a.bin")
    assert not output.outside
    media, _, kept = bench.kept(output)
    assert kept == data
    assert (media.mime, media.name) == (f"image/{kind.lower()}", "a.bin")
    assert media.blob == hashlib.sha256(data).hexdigest()
    assert output.text.startswith(f"a.bin: 64×64 pixels, {kind}, sha256 {media.blob[:12]}")


def test_more_than_2048_pixels_are_scaled_to_1568(bench: Bench) -> None:
    (bench.folder / "wide.png").write_bytes(written(quarters(2060).resize((2060, 1030)), "PNG"))
    output = bench.see("wide.png")
    assert bench.kept(output)[1].size == (1568, 784)
    assert "2060×1030 pixels, shown with 1568×784" in output.text


def test_2048_pixels_are_not_scaled(bench: Bench) -> None:
    (bench.folder / "wide.png").write_bytes(written(plain(2048, 10), "PNG"))
    assert bench.kept(bench.see("wide.png"))[1].size == (2048, 10)


def test_more_than_5_mb_become_a_jpeg_of_1568(bench: Bench) -> None:
    data = written(noise(1700, 1700), "PNG")
    assert len(data) > 5_000_000
    (bench.folder / "noise.png").write_bytes(data)
    media, picture, kept = bench.kept(bench.see("noise.png"))
    assert (media.mime, picture.size) == ("image/jpeg", (1568, 1568))
    assert len(kept) < 5_000_000


def test_a_photograph_is_shown_upright(bench: Bench) -> None:
    (bench.folder / "photo.jpg").write_bytes(lying(quarters(64).resize((64, 32)), 6))
    assert bench.kept(bench.see("photo.jpg"))[1].size == (32, 64)


def test_of_an_animation_the_first_picture_is_shown(bench: Bench) -> None:
    frames = [plain(20, 20, colour) for colour in ("red", "green", "blue")]
    moving = written(frames[0], "GIF", save_all=True, append_images=frames[1:])
    (bench.folder / "moving.gif").write_bytes(moving)
    picture = bench.kept(bench.see("moving.gif"))[1]
    assert getattr(picture, "n_frames", 1) == 1
    assert picture.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_another_image_of_the_same_name_and_size_is_another_result(bench: Bench) -> None:
    """A model that looks again at a picture it draws does not go in circles."""
    path = bench.folder / "a.png"
    path.write_bytes(written(plain(9, 9, "red"), "PNG"))
    first = bench.see("a.png").text
    path.write_bytes(written(plain(9, 9, "green"), "PNG"))
    assert bench.see("a.png").text != first


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "a.png is no image that is known here"),
        (b"just some text", "a.png is no image that is known here"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "a.png is no image that is known here"),
        (b"%PDF-1.7 pages", "a.png is a PDF, which read_document reads"),
        (written(quarters(64), "BMP"), "a.png is image/bmp; this tool shows JPEG"),
        (written(quarters(64), "TIFF"), "a.png is image/tiff; this tool shows JPEG"),
        (written(quarters(64), "PNG")[:60], "cannot be shown: it is damaged or no image"),
        (b"\xff\xd8\xff" + b"x" * 50, "cannot be shown: it is damaged or no image"),
        (png_of(30_000, 30_000), "cannot be shown: it has too many pixels"),
        (png_of(0, 5), "cannot be shown: it is damaged or no image"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_good_image_is_refused_with_what_it_is(
    bench: Bench, data: bytes, why: str
) -> None:
    (bench.folder / "a.png").write_bytes(data)
    output = bench.see("a.png")
    assert output.is_error
    assert why in output.text
    assert output.media == ()
    assert bench.blobs.stored == {}


@pytest.mark.parametrize("path", ["../a.png", "/etc/hostname", "missing.png", "file:///etc/passwd"])
def test_only_the_workspace_is_read(bench: Bench, path: str) -> None:
    (bench.folder.parent / "a.png").write_bytes(written(quarters(64), "PNG"))
    assert bench.see(path).is_error


def test_an_image_of_the_web_is_from_outside(bench: Bench) -> None:
    data = written(quarters(64), "PNG")
    bench.pages.answers["/pics/cat.png?size=2"] = response(data, "text/html")
    output = bench.see(" http://site.example/pics/cat.png?size=2 ")
    assert output.outside
    media, _, kept = bench.kept(output)
    assert (media.name, kept) == ("cat.png", data)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (response(b"<html>", "image/png"), "is no image that is known here"),
        (response(b"", status="403 Forbidden"), "answers with status 403"),
        (response(b"x" * 30_000_001, "image/png"), "is longer than 30000000 bytes"),
        (redirect("http://home.example/a.png"), "this address is not read"),
    ],
    ids=["no image", "refused", "too long", "leads home"],
)
def test_what_the_web_gives_instead_is_an_error(bench: Bench, answer: bytes, why: str) -> None:
    bench.pages.answers["/a.png"] = answer
    output = bench.see("http://site.example/a.png")
    assert output.is_error
    assert why in output.text


def test_private_addresses_are_refused(bench: Bench) -> None:
    assert "this address is not read" in bench.see("http://169.254.169.254/a.png").text
    assert bench.pages.seen == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.png", [Verdict.ALLOW] * 4),
        ("https://site.example/a.png", [Verdict.DENY, Verdict.ASK, Verdict.ASK, Verdict.ALLOW]),
        (" HTTP://site.example/a.png", [Verdict.DENY, Verdict.ASK, Verdict.ASK, Verdict.ALLOW]),
    ],
)
def test_an_address_is_use_of_the_network(path: str, expected: list[Verdict]) -> None:
    args = ViewImageArgs(path=path)
    found = [decide(mode, view_image, args, WORKSPACE) for mode in PermissionMode]
    assert [decision.verdict for decision in found] == expected


def test_a_full_disk_is_said(bench: Bench) -> None:
    def full(_data: bytes, _mime: str) -> str:
        raise OSError(28, "No space left on device")

    (bench.folder / "a.png").write_bytes(written(quarters(64), "PNG"))
    where = context(bench.folder, services(bench.folder, files=ShownFiles(full)))
    output = call(view_image, where, path="a.png")
    assert output.text == "the file could not be kept: no space left on device"
