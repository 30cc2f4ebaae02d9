"""Images and PDFs of a few bytes, made on the spot."""

from __future__ import annotations

import io
import zlib

from PIL import Image

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.media.fitting import fit_image
from habakkuk.llm.media.images import Images
from habakkuk.llm.media.types import Fitted, ImageLimits

_ORIENTATION = 0x0112


class ImagesHere(Images):
    """Images that are read in this process, for tests of what is done with them."""

    def fit(self, data: bytes, mime: str, limits: ImageLimits, interrupt: Interrupt) -> Fitted:
        return fit_image(data, mime, limits)


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    """Return a picture that no format packs well."""
    return Image.effect_noise((width, height), 100).convert(mode)


def plain(width: int, height: int, colour: str = "red", mode: str = "RGB") -> Image.Image:
    """Return a picture of one colour."""
    return Image.new(mode, (width, height), colour)


def written(picture: Image.Image, kind: str, **options: object) -> bytes:
    """Return a picture as a file."""
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def lying(picture: Image.Image, orientation: int) -> bytes:
    """Return a JPEG that says it lies as EXIF's `orientation` tells."""
    exif = Image.Exif()
    exif[_ORIENTATION] = orientation
    return written(picture, "JPEG", exif=exif)


def quarters(side: int) -> Image.Image:
    """Return a square of four squares, each of its own colour."""
    half = side // 2
    picture = Image.new("RGB", (side, side), "red")
    for place, colour in (((half, 0), "green"), ((0, half), "blue"), ((half, half), "white")):
        picture.paste(plain(half, half, colour), place)
    return picture


def png_of(width: int, height: int) -> bytes:
    """Return a PNG whose head speaks of more pixels than it has."""
    data = bytearray(written(plain(1, 1), "PNG"))
    data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    data[29:33] = zlib.crc32(bytes(data[12:29])).to_bytes(4, "big")
    return bytes(data)


def jpeg_of(
    width: int, height: int, *, colours_in_first_scan: int = 3, progressive: bool = False
) -> bytes:
    """Return a JPEG whose head speaks of more pixels than it has."""
    data = bytearray(written(plain(8, 8), "JPEG", progressive=progressive))
    frame = data.index(b"\xff\xc2" if progressive else b"\xff\xc0")
    data[frame + 5 : frame + 9] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    data[data.index(b"\xff\xda") + 4] = colours_in_first_scan
    return bytes(data)


def opened(data: bytes) -> Image.Image:
    """Return the picture of a file, read to its end."""
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def document(pages: int, *, packed: bool = False) -> bytes:
    """Return what a PDF of so many pages has for a reader that counts them."""
    objects = b"".join(b"<< /Type /Page /Parent 1 0 R >>\n" for _ in range(pages))
    if packed:
        inside = zlib.compress(objects)
        objects = b"2 0 obj\n<< /Type /ObjStm /N %d /Length %d >>\nstream\r\n%s\nendstream\n" % (
            pages,
            len(inside),
            inside,
        )
    return (
        b"%PDF-1.7\n1 0 obj\n<< /Type /Pages /Count "
        + str(pages).encode()
        + b" >>\nendobj\n"
        + objects
        + b"startxref\n0\n%%EOF\n"
    )
