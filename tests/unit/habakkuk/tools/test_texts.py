from __future__ import annotations

import codecs

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.tools.texts import decode, encode


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("žluť".encode(), "žluť"),
        (codecs.BOM_UTF8 + b"x", "\ufeffx"),
        ("x\ny".encode("utf-16"), "x\ny"),
        ("x\ny".encode("utf-32"), "x\ny"),
        (codecs.BOM_UTF16_BE + "xy".encode("utf-16-be"), "xy"),
        (b"a\xffb", "a\ufffdb"),
        (b"a" * 9000 + b"\0", "a" * 9000 + "\0"),
    ],
)
def test_text_is_read_in_its_encoding(data: bytes, text: str) -> None:
    assert decode(data, "a").text == text


def test_a_nul_early_on_is_no_text() -> None:
    with pytest.raises(ToolError, match=r"a: this is binary data, not text \(3 bytes\)"):
        decode(b"a\0b", "a")


@pytest.mark.parametrize("text", ["a\0", "\ud800"])
def test_what_no_file_holds_is_named(text: str) -> None:
    with pytest.raises(ToolError, match="the content holds"):
        encode(text, "the content")
