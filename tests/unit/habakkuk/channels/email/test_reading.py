"""What reading one mail costs: anybody can send anything, and it is read in one process for all."""

from __future__ import annotations

import tracemalloc

import pytest

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.email.wire import Place, Reader

_READER = Reader(frozenset({"hab@example.org"}), None, checks=False)
_PLACE = Place(7, 42)
_FROM = b"From: a@example.com\r\n"
_MIXED = _FROM + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n"


def _cost(mail: bytes) -> int:
    """Return the bytes that reading took at most at one time, beside the mail itself."""
    tracemalloc.start()
    try:
        _READER.read(mail, _PLACE)
    except WebhookUnreadable:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak


@pytest.mark.parametrize(
    "mail",
    [
        pytest.param(_FROM + b"\r\n" + b"a\n" * 4_000_000, id="lines"),
        pytest.param(_FROM + b"\r\n" + b"a " * 4_000_000, id="one line"),
        pytest.param(_MIXED + b"--b\n" + b"From \n" * 400_000 + b"\n\n--b--", id="faults"),
        pytest.param(_MIXED + (b"--b\n" + b"a:\n" * 1999 + b"\n") * 1000, id="fields"),
        pytest.param(_MIXED + b"--b\nContent-Type: " + b"\xff;a=b" * 1_500_000, id="a field"),
        pytest.param(
            _FROM + b"Content-Type: text/html\r\n\r\n" + b"<b>x</b>" * 1_000_000, id="a page"
        ),
    ],
)
def test_a_mail_takes_no_more_than_a_few_times_its_bytes(mail: bytes) -> None:
    """Of some a byte took forty in memory: the 40 MB of one mail would be all that there is."""
    assert _cost(mail) < 100_000_000


def test_a_file_of_the_largest_size_is_read() -> None:
    line = b"QUJD" * 19 + b"\r\n"
    head = b"--b\r\nContent-Type: application/zip\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    mail = _MIXED + b"--b\r\n\r\nhi\r\n" + head + line * 440_000 + b"--b--\r\n"
    read = _READER.read(mail, _PLACE)
    assert (read.text, [one.size for one in read.files]) == ("hi", [57 * 440_000])


def test_of_a_text_without_end_the_begin_is_read_and_the_rest_said_to_be_missing() -> None:
    said = ("é" * 50 + "\n") * 40_000
    head = b"Content-Type: text/plain; charset=utf-8\r\n\r\n"
    read = _READER.read(_FROM + head + said.encode(), _PLACE)
    assert len(read.text.encode()) in range(1_900_000, 2_000_001)
    assert said.startswith(read.text)
    assert read.unread == ("the rest of a text that is too long",)


def test_a_cut_mail_has_its_text_and_none_of_its_files() -> None:
    mail = _MIXED + b"--b\r\n\r\nhi\r\n--b\r\nContent-Type: application/zip\r\n\r\nPK"
    read = _READER.read(mail, _PLACE, whole=False)
    assert (read.text, read.files) == ("hi", ())
    assert read.unread == ("the files of a mail that is too large",)


def test_a_header_tells_all_but_what_is_said() -> None:
    head = _FROM + b"Subject: Tea\r\nMessage-ID: <m1@x>\r\nReferences: <m0@x>\r\n\r\n"
    glance, read = _READER.glance(head), _READER.read(head + b"hello\r\n", _PLACE)
    assert (glance.id, glance.sender, glance.thread, glance.subject) == (
        *("m1@x", "a@example.com", "m0@x", "Tea"),
    )
    assert (glance.text, read.text) == ("", "hello")
    assert (glance.thread, glance.subject) == (read.thread, read.subject)


def test_a_mail_without_an_id_has_the_same_in_its_header_and_whole() -> None:
    """It would count as two messages of its sender."""
    taken = b"Received: from x by mx.example.org id 4711; Mon, 1 Jan 2024 10:00:00 +0000\r\n"
    head = taken + _FROM + b"\r\n"
    assert _READER.glance(head).id == _READER.read(head + b"one\r\n\r\ntwo", _PLACE).id
    # Without such a line two mails of one moment may have one header.
    ids = {_READER.read(_FROM + b"\r\n" + said, _PLACE).id for said in (b"one", b"two")}
    assert len(ids) == 2


def test_a_header_without_end_is_no_mail() -> None:
    with pytest.raises(WebhookUnreadable):
        _READER.glance(_FROM + b"X: y\r\n" * 40_000)


_CONTRADICT = b"; filename*=utf-8''a; filename*0*=utf-8''b; name*=c; name*0=d"


def test_a_container_whose_parameters_contradict_each_other_is_read_as_none() -> None:
    """The library cannot put them in an order: one such mail would hold up all that follow."""
    mixed = _MIXED.replace(b"boundary=b", b"boundary=b" + _CONTRADICT)
    read = _READER.read(mixed + b"--b\r\n\r\nhello\r\n--b--", _PLACE)
    assert [one.name for one in read.files] == ["file"]


def test_a_text_whose_parameters_contradict_each_other_is_read() -> None:
    kind = b"Content-Type: text/plain" + _CONTRADICT
    read = _READER.read(_MIXED + b"--b\r\n" + kind + b"\r\n\r\nhello\r\n--b--", _PLACE)
    assert read.text == "hello"
