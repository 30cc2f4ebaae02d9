"""What a file is, by its content: names and declared types come from outside."""

from __future__ import annotations

PDF = "application/pdf"
JPEG = "image/jpeg"
PNG = "image/png"
GIF = "image/gif"
WEBP = "image/webp"
# A PDF may have other bytes before its head, but not many.
_PDF_HEAD = 1024
_STARTS = (
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n", PNG),
    (b"GIF87a", GIF),
    (b"GIF89a", GIF),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)
_BRANDS = {
    b"avif": "image/avif",
    b"avis": "image/avif",
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"hevc": "image/heic",
    b"mif1": "image/heif",
    b"msf1": "image/heif",
}


SHOWN = frozenset({PDF, WEBP, *_BRANDS.values(), *(mime for _, mime in _STARTS)})


def sniff(data: bytes) -> str | None:
    """Return the media type of an image or PDF, None for anything else."""
    for start, mime in _STARTS:
        if data.startswith(start):
            return mime
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return WEBP
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12])
    return PDF if b"%PDF-" in data[:_PDF_HEAD] else None
