"""What a file is, told by its first bytes."""

from __future__ import annotations

import pytest

from habakkuk.llm.media.sniff import sniff
from tests.fakes.pictures import document, plain, written


@pytest.mark.parametrize(
    ("kind", "mime"),
    [
        ("JPEG", "image/jpeg"),
        ("PNG", "image/png"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
        ("AVIF", "image/avif"),
    ],
)
def test_an_image_is_known_by_its_bytes(kind: str, mime: str) -> None:
    assert sniff(written(plain(4, 4), kind)) == mime


def test_a_pdf_is_known_even_behind_a_few_other_bytes() -> None:
    assert sniff(b"\xef\xbb\xbf\r\n" + document(1)) == "application/pdf"


def test_a_phone_s_heic_is_known() -> None:
    assert sniff(b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00") == "image/heic"


@pytest.mark.parametrize(
    "data", [b"", b"hello", b"<svg/>", b"PK\x03\x04", b"RIFF....WAVE", b"\xff"]
)
def test_anything_else_is_nothing_for_a_model(data: bytes) -> None:
    assert sniff(data) is None
