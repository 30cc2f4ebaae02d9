"""Files that come from platforms: piece by piece, and never more than is allowed (case K54)."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator

import pytest

from habakkuk.channels import downloads
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.core.http import Head, Request
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, Seen, page_server, response

_FILE = Request("GET", "http://site.example/file")


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def web(pages: PageServer) -> OutsideHttp:
    return FakeNetwork(pages.port, {"site.example": [[PUBLIC]]}).web()


def _expect(head: Head) -> None:
    if head.status != 200:
        raise NotFetched(f"HTTP {head.status}")


def _fetched(web: OutsideHttp, bounds: Bounds, request: Request = _FILE) -> list[bytes]:
    return list(downloads.pieces(web, request, bounds, _expect, trusted=False))


def test_a_file_comes_in_pieces(web: OutsideHttp, pages: PageServer) -> None:
    body = bytes(range(256)) * 1000
    pages.answers["/file"] = response(body)
    found = _fetched(web, Bounds(len(body)))
    assert b"".join(found) == body
    assert max(map(len, found)) <= 65_536


@pytest.mark.parametrize("packed", [False, True])
def test_no_more_is_read_than_is_allowed(web: OutsideHttp, pages: PageServer, packed: bool) -> None:
    body, more = bytes(10_000_000), b"content-encoding: gzip\r\n"
    pages.answers["/file"] = response(gzip.compress(body), more=more) if packed else response(body)
    got: list[bytes] = []
    with pytest.raises(NotFetched, match="more than 100,000 bytes") as caught:
        got.extend(downloads.pieces(web, _FILE, Bounds(100_000), _expect, trusted=False))
    assert not caught.value.retryable


def test_an_answer_that_is_no_file_is_not_read(web: OutsideHttp, pages: PageServer) -> None:
    pages.answers["/file"] = response(b"sorry", status="410 Gone")
    with pytest.raises(NotFetched, match="HTTP 410"):
        _fetched(web, Bounds(1000))


def test_an_address_that_is_not_public_is_not_called(web: OutsideHttp) -> None:
    with pytest.raises(NotFetched, match="may not be called"):
        _fetched(web, Bounds(1000), Request("GET", "http://127.0.0.1/file"))


def test_who_stops_it_waits_for_nothing(web: OutsideHttp, pages: PageServer) -> None:
    interrupt, asked, over = Interrupt(), threading.Event(), threading.Event()

    def hang(_: Seen) -> bytes:
        asked.set()
        over.wait(30)
        return response(b"late")

    def stop() -> None:
        asked.wait(30)
        interrupt.trip(Reason.CANCELLED)

    pages.answers["/file"] = hang
    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(Interrupted):
        _fetched(web, Bounds(1000, interrupt))
    assert not over.is_set()
    over.set()
    stopper.join()


def test_what_comes_too_late_is_not_waited_for(web: OutsideHttp, pages: PageServer) -> None:
    over = threading.Event()

    def hang(_: Seen) -> bytes:
        over.wait(30)
        return response(b"late")

    pages.answers["/file"] = hang
    with pytest.raises(NotFetched, match="no whole answer came within"):
        _fetched(web, Bounds(1000, seconds=0.1))
    over.set()


def test_after_the_end_nothing_is_asked(web: OutsideHttp, pages: PageServer) -> None:
    with pytest.raises(NotFetched, match="time") as caught:
        _fetched(web, Bounds(1000, end=time.monotonic() - 1))
    assert not caught.value.retryable
    assert pages.seen == []
