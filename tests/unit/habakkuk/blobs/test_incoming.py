"""Files inside JSON."""

from __future__ import annotations

import base64
import hashlib

import pytest

from habakkuk.blobs.incoming import MOST_BYTES, incoming, incoming_shown
from habakkuk.core.errors import Invalid
from tests.fakes.pictures import document, plain, written

PNG = written(plain(3, 3), "PNG")


def encoded(data: bytes, mime: str = "image/png") -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


def test_a_file_is_known_by_its_bytes_whatever_it_is_called() -> None:
    read = incoming(encoded(PNG, "text/html"), "a\n b.html")
    assert (read.mime, read.name, read.data) == ("image/png", "a b.html", PNG)
    assert read.blob == hashlib.sha256(PNG).hexdigest()


def test_what_is_decoded_in_pieces_is_whole() -> None:
    data = PNG + bytes(range(256)) * 3000
    assert incoming(encoded(data)).data == data


def test_base64_alone_is_read_too() -> None:
    assert incoming(base64.b64encode(document(1)).decode()).mime == "application/pdf"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("data:image/png,abc", "send it in base64"),
        ("data:image/png;base64", "send it in base64"),
        ("data:image/png;base64,abc", "no base64"),
        ("data:image/png;base64,ab\u00e9=", "no base64"),
        ("data:image/png;base64,AAAA\nAAAA", "no base64"),
        ("data:image/png;base64," + "A" * (2**18 - 2) + "==AAAA", "no base64"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, says: str) -> None:
    with pytest.raises(Invalid, match=says):
        incoming(text)


def test_where_only_models_look_others_are_refused() -> None:
    with pytest.raises(Invalid, match=r"neither an image nor a PDF$"):
        incoming_shown(encoded(b"hello", "text/plain"))
    assert incoming(encoded(b"hello", "text/plain")).mime == "text/plain"


def test_a_type_is_no_longer_than_types_are() -> None:
    """It stands in rows, and in what the model reads."""
    assert incoming(encoded(b"hello", f"text/{'x' * 127}")).mime == f"text/{'x' * 127}"
    assert incoming(encoded(b"hello", f"text/{'x' * 128}")).mime == "application/octet-stream"


@pytest.mark.parametrize("text", ["", "/etc", "aGVsbG8="])
def test_words_that_happen_to_be_base64_are_no_files(text: str) -> None:
    with pytest.raises(Invalid, match="send others as data:text/plain;base64"):
        incoming(text)


def test_a_file_above_the_limit_is_refused_before_it_is_decoded() -> None:
    assert incoming(encoded(PNG.ljust(MOST_BYTES))).mime == "image/png"
    with pytest.raises(Invalid, match="25,000,000 bytes"):
        incoming(encoded(PNG.ljust(MOST_BYTES + 1)))


def test_a_very_long_name_is_cut() -> None:
    assert len(incoming(encoded(PNG), "x" * 900).name or "") == 200
