"""The client for outside addresses: limits, encodings, interrupts. Its guard: tests/security."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from collections.abc import Iterator
from functools import partial

import pytest

from habakkuk.core.http import HttpFailed, HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, Seen, page_server, response

URL = "http://site.example/"


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def web(pages: PageServer) -> OutsideHttp:
    return FakeNetwork(pages.port, {"site.example": [[PUBLIC]]}).web()


def test_an_answer_as_it_came(web: OutsideHttp, pages: PageServer) -> None:
    pages.answers["/"] = response(b"\x00\xff", "image/odd", status="203 Kind of")
    found = web.get(URL, Limits(), Interrupt())
    assert (found.url, found.status, found.content_type) == (URL, 203, "image/odd")
    assert (found.body, found.cut) == (b"\x00\xff", False)


def test_it_says_who_asks(web: OutsideHttp, pages: PageServer) -> None:
    web.get(URL, Limits(), Interrupt(), {"Accept": "text/html"})
    assert pages.seen[0].headers["user-agent"].startswith("Habakkuk/")
    assert pages.seen[0].headers["accept"] == "text/html"


@pytest.mark.parametrize(("size", "cut"), [(1000, False), (1001, True), (100_000, True)])
def test_a_body_is_read_up_to_its_limit(
    size: int, cut: bool, web: OutsideHttp, pages: PageServer
) -> None:
    pages.answers["/"] = response(b"x" * size)
    found = web.get(URL, Limits(max_bytes=1000), Interrupt())
    assert (len(found.body), found.cut) == (min(size, 1000), cut)


@pytest.mark.parametrize(("name", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress)])
def test_the_limit_counts_what_comes_out_of_a_packed_body(
    name: str, pack: partial[bytes], web: OutsideHttp, pages: PageServer
) -> None:
    encoding = f"content-encoding: {name}\r\n".encode()
    pages.answers["/"] = response(pack(b"x" * 50_000_000), more=encoding)
    found = web.get(URL, Limits(max_bytes=1000), Interrupt())
    assert (found.body, found.cut) == (b"x" * 1000, True)


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "gzip, br", "nonsense"])
def test_an_encoding_that_was_not_asked_for_is_refused(
    encoding: str, web: OutsideHttp, pages: PageServer
) -> None:
    pages.answers["/"] = response(more=f"content-encoding: {encoding}\r\n".encode())
    with pytest.raises(HttpFailed, match="encoding"):
        web.get(URL, Limits(), Interrupt())


def test_a_broken_packed_body_is_a_failure(web: OutsideHttp, pages: PageServer) -> None:
    pages.answers["/"] = response(b"no gzip", more=b"content-encoding: gzip\r\n")
    with pytest.raises(HttpFailed):
        web.get(URL, Limits(), Interrupt())


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 500_000 + b"\r\n\r\n",
    ],
)
def test_an_answer_that_is_none_is_a_failure(
    answer: bytes, web: OutsideHttp, pages: PageServer
) -> None:
    pages.answers["/"] = lambda _: answer
    with pytest.raises(HttpFailed):
        web.get(URL, Limits(seconds=10), Interrupt())


def test_a_name_without_addresses_is_a_failure(web: OutsideHttp) -> None:
    with pytest.raises(HttpFailed, match="no connection"):
        web.get("http://unknown.example/", Limits(), Interrupt())


def test_what_it_says_of_a_failure_holds_no_path(web: OutsideHttp) -> None:
    """A path or query can hold a token: bots have theirs in the address."""
    for url in ("http://unknown.example/botSECRET/x?key=SECRET", "http://localhost/SECRET"):
        with pytest.raises((HttpFailed, HttpRefused)) as caught:
            web.get(url, Limits(), Interrupt())
        assert "SECRET" not in str(caught.value)


class _Held:
    """A server that holds an answer back until the test is over."""

    def __init__(self, start: bytes) -> None:
        self.start = start
        self.reached, self.over = threading.Event(), threading.Event()
        self.sent = threading.Event()

    def answer(self, _: Seen) -> bytes:
        self.reached.set()
        self.over.wait(30)
        return self.start


@pytest.fixture
def held(pages: PageServer) -> Iterator[_Held]:
    made = _Held(b"")
    pages.answers["/"] = made.answer
    yield made
    made.over.set()


def test_the_whole_fetch_has_one_limit(web: OutsideHttp, held: _Held) -> None:
    with pytest.raises(HttpFailed, match=r"within 0\.3 s"):
        web.get(URL, Limits(seconds=0.3), Interrupt())
    assert held.reached.is_set()


def test_a_trickle_does_not_stretch_it() -> None:
    """Each wait is short; together they are too long."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_trickle, args=(listening, over))
        thread.start()
        network = FakeNetwork(listening.getsockname()[1], {"site.example": [[PUBLIC]]})
        with pytest.raises(HttpFailed, match="within"):
            network.web().get(URL, Limits(seconds=0.5), Interrupt())
        over.set()
        thread.join()


def _trickle(listening: socket.socket, over: threading.Event) -> None:
    conversation, _ = listening.accept()
    with conversation:
        conversation.recv(4096)
        conversation.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
        while not over.wait(0.02):
            try:
                conversation.sendall(b"x")
            except OSError:
                return


def test_an_interrupt_frees_a_reader_at_once(web: OutsideHttp, held: _Held) -> None:
    interrupt = Interrupt()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            web.get(URL, Limits(), interrupt)
        except Interrupted as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    assert held.reached.wait(20)
    interrupt.trip(Reason.CANCELLED)
    thread.join(2)
    assert not thread.is_alive()
    assert len(failures) == 1
