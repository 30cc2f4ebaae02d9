"""Each back-end, over a real socket, by the documents of its service."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.search.contract import Access, Ask, Hit, SearchFailed, SearchLate
from habakkuk.search.registry import kinds
from tests.fakes.search_server import Asked, SearchServer, Told, search_server, told

KINDS = kinds()
WITH_INTERFACE = ["brave", "exa", "searxng", "tavily"]
HOSTS = {
    "brave": "api.search.brave.com",
    "exa": "api.exa.ai",
    "searxng": "search.example",
    "tavily": "api.tavily.com",
}
END_SECONDS = 2.0
Results = list[tuple[Any, Any, Any]]


def wired(name: str, found: Results) -> Any:
    """Return results as a service writes them."""
    if name == "brave":
        listed = [{"title": t, "url": u, "description": s, "age": "1"} for t, u, s in found]
        return {"type": "search", "query": {}, "web": {"type": "search", "results": listed}}
    if name == "exa":
        listed = [
            {"title": t, "url": u, "highlights": [s] if s else None, "id": u} for t, u, s in found
        ]
        return {"requestId": "x", "results": listed, "costDollars": {"total": 0.005}}
    listed = [{"title": t, "url": u, "content": s, "score": 0.9} for t, u, s in found]
    return {"query": "q", "results": listed, "answer": None}


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server() as running:
        yield running


def ask(server: SearchServer, name: str, count: int = 5, **changes: Any) -> list[Hit]:
    kind = KINDS[name]
    access = Access(kind.url or f"https://{HOSTS.get(name)}", own=False, key="the-key")
    given: dict[str, Any] = {
        "seconds": 20.0,
        "interrupt": Interrupt(),
        "query": "größte Stadt",
    } | changes
    return list(kind.make(access).search(Ask(count=count, http=server.web(), **given | changes)))


def test_they_are_found() -> None:
    assert set(KINDS) == {*WITH_INTERFACE, "ddgs"}


@pytest.mark.parametrize("name", WITH_INTERFACE)
def test_what_is_found_is_given(server: SearchServer, name: str) -> None:
    found: Results = [
        ("A <strong>title</strong>", "https://a.example/1", "some &amp; more\n words"),
        ("Another", "http://b.example/", None),
        (None, "https://c.example/x", "text"),
    ]
    server.answers[HOSTS[name]] = told(wired(name, found))
    assert ask(server, name) == [
        Hit("A title", "https://a.example/1", "some & more words"),
        Hit("Another", "http://b.example/", ""),
        Hit("https://c.example/x", "https://c.example/x", "text"),
    ]


def test_brave_is_asked_as_it_wants(server: SearchServer) -> None:
    server.answers[HOSTS["brave"]] = told(wired("brave", []))
    assert ask(server, "brave", 7) == []
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/res/v1/web/search")
    assert asked.fields == {"q": "größte Stadt", "count": "7", "text_decorations": "false"}
    assert asked.headers["x-subscription-token"] == "the-key"
    assert asked.headers["accept"] == "application/json"


def test_tavily_is_asked_as_it_wants(server: SearchServer) -> None:
    server.answers[HOSTS["tavily"]] = told(wired("tavily", []))
    assert ask(server, "tavily", 7) == []
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.json == {"query": "größte Stadt", "max_results": 7, "search_depth": "basic"}
    assert asked.headers["authorization"] == "Bearer the-key"
    assert asked.headers["content-type"] == "application/json"


def test_exa_is_asked_as_it_wants(server: SearchServer) -> None:
    server.answers[HOSTS["exa"]] = told(wired("exa", []))
    assert ask(server, "exa", 7) == []
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/search")
    assert asked.json["numResults"] == 7
    assert asked.json["contents"] == {"highlights": True}
    assert asked.headers["x-api-key"] == "the-key"


def test_searxng_is_asked_as_it_wants(server: SearchServer) -> None:
    server.answers[HOSTS["searxng"]] = told(wired("searxng", []))
    assert ask(server, "searxng") == []
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/search")
    assert asked.fields == {"q": "größte Stadt", "format": "json"}


def test_a_searxng_whose_engines_are_all_away_has_failed(server: SearchServer) -> None:
    answer = wired("searxng", []) | {"unresponsive_engines": [["google", "timeout"]]}
    server.answers[HOSTS["searxng"]] = told(answer)
    with pytest.raises(SearchFailed, match="none of its engines answers"):
        ask(server, "searxng")


@pytest.mark.parametrize("name", WITH_INTERFACE)
def test_no_more_are_given_than_asked_and_each_page_once(server: SearchServer, name: str) -> None:
    urls = ["https://a.example/", "https://a.example/", "https://b.example/", "https://c.example/"]
    server.answers[HOSTS[name]] = told(wired(name, [("t", url, "") for url in urls]))
    assert [hit.url for hit in ask(server, name, 2)] == ["https://a.example/", "https://b.example/"]


@pytest.mark.parametrize(
    "url",
    [
        "",
        None,
        "javascript:alert(1)",
        "file:///etc/passwd",
        "/relative",
        "https://",
        "https://a b/",
        "http://[::1",
        "https://a.example/\0",
        "https://a.example/" + "x" * 3_000,
        "ftp://a.example/",
    ],
)
def test_what_is_no_address_of_the_web_is_left_out(server: SearchServer, url: Any) -> None:
    server.answers[HOSTS["tavily"]] = told(wired("tavily", [("t", url, "")]))
    assert ask(server, "tavily") == []


def test_long_and_odd_words_are_cut_and_cleaned(server: SearchServer) -> None:
    found: Results = [("t" * 5_000, "https://a.example/", "\0 <b" + "<" * 100_000)]
    server.answers[HOSTS["tavily"]] = told(wired("tavily", found))
    (hit,) = ask(server, "tavily")
    assert len(hit.title) <= 200
    assert len(hit.snippet) <= 600
    hit.snippet.encode()


@pytest.mark.parametrize("name", WITH_INTERFACE)
@pytest.mark.parametrize(
    ("answer", "why", "rest"),
    [
        (Told(b"{}", 429, {"Retry-After": "7"}), "takes no more requests", 7),
        (Told(b"{}", 429), "takes no more requests", 60),
        (Told(b"{}", 429, {"Retry-After": "soon"}), "takes no more requests", 60),
        (Told(b"{}", 429, {"Retry-After": "99999999"}), "takes no more requests", 3600),
        (Told(b"{}", 401), "it refuses the request", 900),
        (Told(b"{}", 403), "it refuses the request", 900),
        (Told(b"{}", 402), "its plan is used up", 900),
        (Told(b"{}", 432), "its plan is used up", 900),
        (Told(b"", 301, {"Location": "https://other.example/"}), "it redirects", 900),
        (Told(b"oh", 500), "it answers with status 500", 60),
        (Told(b"<html>come back</html>", kind="text/html"), r"cannot be read \(text/html\)", 60),
        (Told(b""), "cannot be read", 60),
        (Told(b"[]"), "cannot be read", 60),
        (Told(b"null"), "cannot be read", 60),
        (Told(b'{"results": 5, "web": 5}'), "cannot be read", 60),
        (Told(b'{"results": [5], "web": {"results": [5]}}'), "cannot be read", 60),
        (Told(b"[" * 100_000), "cannot be read", 60),
        (Told(b'{"results": [' + b" " * 2_000_000 + b"]}"), "longer than 2000000 bytes", 60),
    ],
    ids=str,
)
def test_what_is_no_answer_says_why_and_how_long_to_leave_it(
    server: SearchServer, name: str, answer: Told, why: str, rest: float
) -> None:
    server.answers[HOSTS[name]] = answer
    with pytest.raises(SearchFailed, match=why) as caught:
        ask(server, name)
    assert caught.value.rest == rest
    assert len(server.asked) == 1


def _stalled(over: threading.Event) -> Callable[[Asked], Told]:
    def answer(_: Asked) -> Told:
        over.wait(30)
        return Told()

    return answer


@pytest.mark.parametrize("name", [*WITH_INTERFACE, "ddgs"])
def test_one_that_hangs_is_late(server: SearchServer, name: str) -> None:
    over = threading.Event()
    hosts = [asked for asked in (HOSTS.get(name), "html.duckduckgo.com") if asked]
    server.answers |= dict.fromkeys(hosts, _stalled(over))
    with pytest.raises(SearchLate):
        ask(server, name, seconds=3.0 if name == "ddgs" else 0.3)
    over.set()


@pytest.mark.parametrize("name", [*WITH_INTERFACE, "ddgs"])
def test_an_interrupt_ends_it(server: SearchServer, name: str) -> None:
    over, interrupt, failures = threading.Event(), Interrupt(), list[BaseException]()
    server.answers |= dict.fromkeys((*HOSTS.values(), "html.duckduckgo.com"), _stalled(over))

    def asking() -> None:
        try:
            ask(server, name, interrupt=interrupt)
        except Interrupted as error:
            failures.append(error)

    thread = threading.Thread(target=asking)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.asked:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    interrupt.trip(Reason.CANCELLED)
    thread.join(END_SECONDS)
    over.set()
    assert not thread.is_alive()
    assert len(failures) == 1


def test_an_operators_own_server_may_be_at_home(server: SearchServer) -> None:
    """An address of the operator is trusted; one of ours that leads home is not."""
    address = f"https://127.0.0.1:{server.port}"
    server.answers[f"127.0.0.1:{server.port}"] = told(wired("searxng", [("t", "https://a.b/", "")]))
    asking = Ask("q", 5, 20.0, server.web(), Interrupt())
    own = KINDS["searxng"].make(Access(address, own=True))
    assert [hit.url for hit in own.search(asking)] == ["https://a.b/"]
    other = KINDS["searxng"].make(Access(address, own=False))
    with pytest.raises(SearchFailed, match="its address is not called"):
        other.search(asking)
