"""An image as a model takes it: upright, one frame, within a size in pixels and in bytes."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from habakkuk.llm.media.sniff import JPEG, PNG
from habakkuk.llm.types import Payload

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# Others are not opened at all: each decoder is a door.
_FORMATS = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF", "AVIF")
# More than any camera's or screen's picture; at four bytes each it still fits into memory.
_MOST_PIXELS = 80_000_000
# A JPEG is read at a quarter or an eighth of its size where that is enough, but for those whose
# parts lie in layers: they must be held as a whole.
_MOST_JPEG_PIXELS = 170_000_000
# Above this a PNG is sent as a JPEG, unless it is smaller that way all the same.
_SMALL_PNG = 1_000_000
_QUALITIES = (85, 70, 50)
_SHRINK = 0.7
_LEAST_SIDE = 32
# What loses nothing by being written as PNG.
_LOSSLESS = ("PNG", "GIF", "BMP", "TIFF")
_ORIENTATION = 0x0112
_UPRIGHT = (0, 1)
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
    MemoryError,
    RuntimeError,
    struct.error,
    zlib.error,
)


class Unfit(Exception):
    """A file cannot be made to fit; the message says why, after "image x: "."""


@dataclass(frozen=True)
class ImageLimits:
    """What a wire format takes. `encoded_bytes` counts base64; `side` is in pixels."""

    types: frozenset[str]
    encoded_bytes: int
    side: int


def encoded_size(data: bytes) -> int:
    """Return the length of bytes in base64."""
    return (len(data) + 2) // 3 * 4


def fit_image(data: bytes, mime: str, limits: ImageLimits) -> Payload:
    """Return the image as it was when it fits, else a smaller, upright one. Raises Unfit.

    The same bytes and limits give the same result, so that a provider's cache holds.
    """
    # Slow to load, and most processes never see an image.
    from PIL import Image  # noqa: PLC0415 - see above

    try:
        with Image.open(io.BytesIO(data), formats=_FORMATS) as picture:
            return _fit(picture, data, mime, limits)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unfit("it has too many pixels") from error
    except _BROKEN as error:
        raise Unfit("it is damaged or no image") from error


def _fit(picture: Picture, data: bytes, mime: str, limits: ImageLimits) -> Payload:
    halved = mime == JPEG and not picture.info.get("progressive")
    if picture.width * picture.height > (_MOST_JPEG_PIXELS if halved else _MOST_PIXELS):
        raise Unfit("it has too many pixels")
    fits = _fits(picture, data, mime, limits)
    if not fits:
        picture.draft("RGB", (limits.side, limits.side))
    # Read to its end: a provider that meets a broken image refuses the whole conversation.
    picture.load()
    return Payload(mime, data) if fits else _smaller(picture, limits)


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


def _smaller(picture: Picture, limits: ImageLimits) -> Payload:
    from PIL import Image, ImageOps  # noqa: PLC0415 - as in fit_image

    lossless = picture.format in _LOSSLESS
    upright = _plain(ImageOps.exif_transpose(picture))
    upright.thumbnail((limits.side, limits.side), Image.Resampling.LANCZOS)
    if PNG in limits.types and (lossless or upright.mode == "RGBA"):
        written = _written(upright, "PNG")
        if encoded_size(written) <= min(limits.encoded_bytes, _SMALL_PNG):
            return Payload(PNG, written)
    return Payload(JPEG, _as_jpeg(_opaque(upright), limits.encoded_bytes))


def _as_jpeg(picture: Picture, most: int) -> bytes:
    while True:
        for quality in _QUALITIES:
            written = _written(picture, "JPEG", quality=quality)
            if encoded_size(written) <= most:
                return written
        if max(picture.size) < _LEAST_SIDE:
            raise Unfit("it cannot be made small enough")
        width, height = picture.size
        picture.thumbnail((max(1, width * _SHRINK), max(1, height * _SHRINK)))


def _plain(picture: Picture) -> Picture:
    """Return the picture in eight bits a channel, with its transparency if it has any."""
    if picture.mode.startswith("I"):
        # Sixteen bits: converting would only cut off what is above 255.
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    clear = picture.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in picture.info
    return picture.convert("RGBA" if clear else "RGB")


def _opaque(picture: Picture) -> Picture:
    """Return the picture on white."""
    from PIL import Image  # noqa: PLC0415 - as in fit_image

    if picture.mode != "RGBA":
        return picture
    ground = Image.new("RGB", picture.size, "white")
    ground.paste(picture, mask=picture.getchannel("A"))
    return ground


def _written(picture: Picture, kind: str, **options: int) -> bytes:
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()
