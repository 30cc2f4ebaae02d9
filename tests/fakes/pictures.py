"""Images and PDFs of a few bytes, made on the spot."""

from __future__ import annotations

import io
import zlib

from PIL import Image

_ORIENTATION = 0x0112


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
