"""An image as a model takes it: upright, one frame, within a size in pixels and in bytes."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import AvifImagePlugin, Image, ImageOps, TiffImagePlugin, WebPImagePlugin
from PIL.Image import Image as Picture

from habakkuk.llm.media.sniff import JPEG, PNG, WEBP
from habakkuk.llm.media.types import Fitted, Flaw, ImageLimits, Unfit, encoded_size

# Others are not opened at all: each decoder is a door.
_FORMATS = (
    *("JPEG", "PNG", "GIF", "BMP"),
    WebPImagePlugin.WebPImageFile.format,
    TiffImagePlugin.TiffImageFile.format,
    AvifImagePlugin.AvifImageFile.format,
)
# What is unpacked as a whole: 100 MB at four bytes a pixel, more than any screen's picture.
_MOST_PIXELS = 25_000_000
# A JPEG is read at a quarter or an eighth of its size where that is enough, but for those whose
# parts lie in layers: they must be held as a whole.
_MOST_JPEG_PIXELS = 170_000_000
# Its reader holds two pictures beside the one that it gives, and copies that.
_MOST_WEBP_PIXELS = 12_500_000
# An image is worked on in strips of so many pixels: each mode it passes through is a copy.
_STRIP_PIXELS = 1_000_000
# Above this a PNG is sent as a JPEG, unless it is smaller that way all the same.
_SMALL_PNG = 1_000_000
_QUALITIES = (85, 70, 50)
_SHRINK = 0.7
_LEAST_SIDE = 32
# What loses nothing by being written as PNG.
_LOSSLESS = ("PNG", "GIF", "BMP", "TIFF")
_ORIENTATION = 0x0112
_UPRIGHT = (0, 1)
_CLEAR = ("RGBA", "LA", "PA", "La", "RGBa")
_SCAN = b"\xda"
# What decoders raise for bytes that are no good image, as tried with broken files of each format.
_BROKEN = (
    OSError,
    SyntaxError,
    ValueError,
    EOFError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    struct.error,
    zlib.error,
)


def prepare() -> None:
    """Load what images are read and written with: later nothing can be loaded any more."""
    Image.preinit()
    # One thread: no other can be started.
    AvifImagePlugin.DEFAULT_MAX_THREADS = 1


def fit_image(data: bytes, mime: str, limits: ImageLimits) -> Fitted:
    """Return the image as it was when it fits, else a smaller, upright one. Raises Unfit.

    The same bytes and limits give the same result, so that a provider's cache holds.
    """
    with _opened(data) as picture:
        _check_pixels(picture, data, mime)
        return _fit(picture, data, mime, limits)


@contextmanager
def _opened(data: bytes) -> Iterator[Picture]:
    """Give the picture in `data`, of which the head alone is read; what fails with it is Unfit."""
    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            yield picture
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unfit(Flaw.TOO_MANY_PIXELS) from error
    except MemoryError as error:
        raise Unfit(Flaw.TOO_MUCH_MEMORY) from error
    except _BROKEN as error:
        raise Unfit(Flaw.DAMAGED) from error


def _check_pixels(picture: Picture, data: bytes, mime: str) -> None:
    most = _MOST_WEBP_PIXELS if mime == WEBP else _MOST_PIXELS
    if mime == JPEG and not _in_layers(picture, data):
        most = _MOST_JPEG_PIXELS
    if picture.width * picture.height > most:
        raise Unfit(Flaw.TOO_MANY_PIXELS)


def _in_layers(picture: Picture, data: bytes) -> bool:
    """Whether a JPEG's parts must all be read before its first row is known."""
    if picture.info.get("progressive"):
        return True
    # Its colours one after the other: the first scan then has fewer of them than the picture.
    first_scan = _first_scan(data)
    return first_scan is None or first_scan < len(picture.getbands())


def _first_scan(data: bytes) -> int | None:
    """Return how many colours a JPEG's first scan holds; None where no scan is found."""
    at = 2
    while data[at : at + 1] == b"\xff":
        marker = data[at + 1 : at + 2]
        if marker == _SCAN:
            return data[at + 4] if at + 4 < len(data) else None
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big") if marker != b"\xff" else 1
    return None


def _fit(picture: Picture, data: bytes, mime: str, limits: ImageLimits) -> Fitted:
    size, fits = picture.size, _fits(picture, data, mime, limits)
    side = _side(picture, data, limits)
    if not fits:
        # Of another shape than the picture, it would be measured by the picture's short side.
        picture.draft("RGB", _within(size, side))
    if picture.width * picture.height > _MOST_PIXELS:
        raise Unfit(Flaw.TOO_MANY_PIXELS)
    # Read to its end: a provider that meets a broken image refuses the whole conversation.
    picture.load()
    return Fitted(mime, data, size, size) if fits else _smaller(picture, size, side, limits)


def _side(picture: Picture, data: bytes, limits: ImageLimits) -> int:
    """Return how long the longer side may be: less in one that must be made smaller anyway."""
    large = max(picture.size) > limits.side or encoded_size(data) > limits.encoded_bytes
    return limits.scaled_side or limits.side if large else limits.side


def _fits(picture: Picture, data: bytes, mime: str, limits: ImageLimits) -> bool:
    # A JPEG may hold a second picture, for bright screens; that is no animation.
    animated = mime != JPEG and getattr(picture, "is_animated", False)
    return (
        mime in limits.types
        and max(picture.size) <= limits.side
        and encoded_size(data) <= limits.encoded_bytes
        and not animated
        and picture.getexif().get(_ORIENTATION, 1) in _UPRIGHT
    )


def _smaller(picture: Picture, size: tuple[int, int], side: int, limits: ImageLimits) -> Fitted:
    lossless = picture.format in _LOSSLESS
    upright = _scaled(picture, _within(picture.size, side))
    upright.getexif()[_ORIENTATION] = picture.getexif().get(_ORIENTATION, 1)
    ImageOps.exif_transpose(upright, in_place=True)
    if PNG in limits.types and (lossless or upright.mode == "RGBA"):
        written = _written(upright, "PNG")
        if encoded_size(written) <= min(limits.encoded_bytes, _SMALL_PNG):
            return Fitted(PNG, written, size, upright.size)
    opaque = _opaque(upright)
    return Fitted(JPEG, _as_jpeg(opaque, limits.encoded_bytes), size, opaque.size)


def _within(size: tuple[int, int], side: int) -> tuple[int, int]:
    """Return the size of the same shape whose longer side is at most `side`."""
    longer = max(size)
    if longer <= side:
        return size
    width, height = (max(1, round(one * side / longer)) for one in size)
    return width, height


def _scaled(picture: Picture, size: tuple[int, int]) -> Picture:
    """Return the picture in a size and in eight bits a channel, with transparency if it has any.

    First each strip is narrowed, then all of it lowered: the pixels of one step, with few copies.
    """
    clear = picture.mode in _CLEAR or "transparency" in picture.info
    # Scaled with its colours multiplied, what is transparent lends no colour to its neighbours.
    narrow = Image.new("RGBa" if clear else "RGB", (size[0], picture.height))
    rows = max(1, _STRIP_PIXELS // picture.width)
    for top in range(0, picture.height, rows):
        low = min(picture.height, top + rows)
        strip = _plain(picture.crop((0, top, picture.width, low)), clear=clear)
        narrow.paste(strip.resize((size[0], low - top), Image.Resampling.LANCZOS), (0, top))
    lowered = narrow.resize(size, Image.Resampling.LANCZOS)
    return lowered.convert("RGBA") if clear else lowered


def _plain(picture: Picture, *, clear: bool) -> Picture:
    """Return the picture in eight bits a channel, multiplied with its transparency if `clear`."""
    if picture.mode.startswith("I"):
        # Sixteen bits: converting would only cut off what is above 255.
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture.convert("RGBA").convert("RGBa") if clear else picture.convert("RGB")


def _as_jpeg(picture: Picture, most: int) -> bytes:
    while True:
        for quality in _QUALITIES:
            written = _written(picture, "JPEG", quality=quality)
            if encoded_size(written) <= most:
                return written
        if max(picture.size) < _LEAST_SIDE:
            raise Unfit(Flaw.TOO_HEAVY)
        width, height = picture.size
        picture.thumbnail((max(1, width * _SHRINK), max(1, height * _SHRINK)))


def _opaque(picture: Picture) -> Picture:
    """Return the picture on white."""
    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGB", picture.size, (255, 255, 255))
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground


def _written(picture: Picture, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()
