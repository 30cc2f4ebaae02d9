"""Row 30: images that are made to hurt their reader."""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.media.images import Images
from habakkuk.llm.media.sniff import GIF, JPEG, PNG, WEBP, sniff
from habakkuk.llm.media.types import Fitted, ImageLimits, Unfit
from habakkuk.tools.core.view_image import view_image
from tests.fakes.pictures import jpeg_of, noise, plain, png_of, written
from tests.fakes.toolbox import call, context

LIMITS = ImageLimits(frozenset({JPEG, PNG, GIF, WEBP}), 100_000, 200)
KINDS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")
SMALL = written(plain(9, 9), "PNG")


def _fit(data: bytes) -> Fitted:
    return Images().fit(data, sniff(data) or "", LIMITS, Interrupt())


def _chunk(name: bytes, content: bytes) -> bytes:
    sum_ = zlib.crc32(name + content).to_bytes(4, "big")
    return len(content).to_bytes(4, "big") + name + content + sum_


def _png_with(*chunks: bytes) -> bytes:
    """Return a small PNG with more parts behind its head."""
    return SMALL[:33] + b"".join(chunks) + SMALL[33:]


def _packed(size: int) -> bytes:
    packer = zlib.compressobj(9)
    return packer.compress(b"\0" * size) + packer.flush()


def _tiff(*entries: tuple[int, int, int, int]) -> bytes:
    """Return a TIFF that is all head: entries of (tag, type, count, value)."""
    listed = b"".join(struct.pack("<HHII", *entry) for entry in sorted(entries))
    return b"II*\0\x08\0\0\0" + struct.pack("<H", len(entries)) + listed + b"\0\0\0\0"


def _bmp(width: int, height: int) -> bytes:
    data = bytearray(written(plain(2, 2), "BMP"))
    data[18:26] = struct.pack("<ii", width, height)
    return bytes(data)


def _gif(width: int, height: int) -> bytes:
    data = bytearray(written(plain(2, 2), "GIF"))
    data[6:10] = struct.pack("<HH", width, height)
    return bytes(data)


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    "a PNG of 900 million pixels": lambda: png_of(30_000, 30_000),
    "a PNG of the most pixels that it can say": lambda: png_of(2**31 - 1, 2**31 - 1),
    "a PNG of one endless row": lambda: png_of(2**31 - 1, 1),
    "a PNG of no pixels": lambda: png_of(0, 5),
    "a PNG of 25 million pixels that are not there": lambda: png_of(5000, 5000),
    "a PNG with a text of 400 MB": lambda: _png_with(
        _chunk(b"zTXt", b"Comment\0\0" + _packed(400_000_000))
    ),
    "a PNG with a profile of 400 MB": lambda: _png_with(
        _chunk(b"iCCP", b"icc\0\0" + _packed(400_000_000))
    ),
    "a JPEG of 4,000 million pixels": lambda: jpeg_of(65_500, 65_500),
    "a JPEG in layers that are not there": lambda: jpeg_of(5001, 5000, progressive=True),
    "a JPEG of nothing but beginnings": lambda: b"\xff\xd8" + b"\xff\xe1\0\x02" * 1_000_000,
    "a GIF of 4,000 million pixels": lambda: _gif(65_535, 65_535),
    "a BMP of more pixels than can be counted": lambda: _bmp(2**31 - 1, 2**31 - 1),
    "a BMP of negative height": lambda: _bmp(50_000, -50_000),
    "a TIFF of 4,000 million pixels": lambda: _tiff((256, 4, 1, 65_535), (257, 4, 1, 65_535)),
    "a TIFF that leads to itself": lambda: _tiff(
        (256, 4, 1, 9), (257, 4, 1, 9), (273, 4, 2**31, 8), (279, 4, 2**31, 8)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_image_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(Unfit, match=r"too many pixels|damaged"):
        _fit(HOSTILE[name]())


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_image_is_refused_or_read_and_nothing_else(kind: str) -> None:
    chance = random.Random(kind)
    whole = written(noise(60, 60), kind)
    for _ in range(4):
        broken = bytearray(whole)
        for _ in range(10):
            broken[chance.randrange(16, len(broken))] = chance.randrange(256)
        with suppress(Unfit):
            assert _fit(bytes(broken)).data


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_the_tool_says_so_and_shows_nothing(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a.png").write_bytes(written(noise(60, 60), kind)[:-300])
    output = call(view_image, context(tmp_path), path="a.png")
    assert output.is_error
    assert "a.png cannot be shown: it is damaged" in output.text
    assert output.media == ()
