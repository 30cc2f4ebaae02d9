"""Pages of search engines, read by the library in a child; each request of it is made by us."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.search.backends import ddgs as module
from habakkuk.search.contract import Access, Ask, Hit, SearchFailed
from tests.fakes.search_server import Asked, SearchServer, Told, search_server

DUCK = "html.duckduckgo.com"
MOJEEK = "www.mojeek.com"
FOUND = b"""
<html><body><div class="links_main result__body"><h2><a href="https://a.example/1">A title</a></h2>
<a class="snippet" href="https://a.example/1">Some <b>words</b> &amp; more</a></div>
<div class="result__body"><h2><a href="https://duckduckgo.com/y.js?ad">Ad</a></h2>
<a href="https://duckduckgo.com/y.js?ad">Buy</a></div></body></html>
"""
LISTED = b"""
<ul class="results-standard"><li><h2><a href="https://m.example/">M</a></h2>
<p class="s">of mojeek</p></li></ul>
"""


@pytest.fixture
def server() -> Iterator[SearchServer]:
    with search_server() as running:
        yield running


def page(body: bytes, status: int = 200) -> Told:
    return Told(body, status, kind="text/html; charset=utf-8")


def ask(server: SearchServer, query: str = "a query & more") -> list[Hit]:
    asking = Ask(query, 5, 30.0, server.web(), Interrupt())
    return list(module.Ddgs(Access("", own=False)).search(asking))


def test_the_first_engine_that_finds_something_is_enough(server: SearchServer) -> None:
    server.answers[DUCK] = page(FOUND)
    assert ask(server) == [Hit("A title", "https://a.example/1", "Some words & more")]
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.fields["q"]) == ("POST", "/html/", "a query & more")
    assert asked.headers["user-agent"].startswith("Mozilla/5.0 (compatible; Habakkuk")


@pytest.mark.parametrize(
    "answer",
    [page(b"no", 403), page(b"<html>are you a robot?</html>"), page(b""), page(b"\xff\0" * 999)],
    ids=["refused", "asks back", "empty", "bytes"],
)
def test_the_next_engine_is_asked_when_one_gives_nothing(
    server: SearchServer, answer: Told
) -> None:
    server.answers |= {DUCK: answer, MOJEEK: page(LISTED)}
    assert ask(server) == [Hit("M", "https://m.example/", "of mojeek")]
    assert [one.host for one in server.asked] == [DUCK, MOJEEK]
    assert server.asked[1].headers["cookie"] == "arc=us; lb=en"


def test_all_of_them_failing_is_a_failure_that_names_each(server: SearchServer) -> None:
    with pytest.raises(SearchFailed) as caught:
        ask(server)
    for name in ("duckduckgo: status 404", "mojeek: ", "startpage: ", "brave: ", "yahoo: "):
        assert name in str(caught.value)


def test_an_engine_that_leads_home_is_refused(server: SearchServer) -> None:
    server.answers |= {
        DUCK: Told(b"", 302, {"Location": "https://169.254.169.254/"}),
        MOJEEK: Told(b"", 302, {"Location": "https://169.254.169.254/"}),
    }
    with pytest.raises(SearchFailed, match=r"mojeek: 169\.254\.169\.254 may not be called"):
        ask(server)


def test_a_page_without_end_is_cut(server: SearchServer) -> None:
    """What of it came is read: the cap is 2 MB."""
    server.answers[DUCK] = page(FOUND + b"<p>x</p>" * 500_000)
    assert ask(server)[0].url == "https://a.example/1"


def test_an_engine_of_elements_in_elements_ends(server: SearchServer) -> None:
    nested = b"<div class='body'>" * 100_000
    server.answers |= {DUCK: page(nested), MOJEEK: page(LISTED)}
    assert ask(server) == [Hit("M", "https://m.example/", "of mojeek")]


@pytest.mark.parametrize(
    "said",
    [
        '{"method": "GET", "url": "https://evil.example/", "headers": {}, "params": {}}',
        '{"method": "GET", "url": "https://duckduckgo.com.evil.example/", "headers": {}}',
        "nonsense",
        "[]",
        "{}",
        '{"hits": [1], "failed": {}}',
        '{"hits": [["t", "https://a.b/"]], "failed": {}}',
        '{"hits": [], "failed": 5}',
        "[" * 100_000,
        "x" * 3_000_000,
    ],
    ids=lambda text: text[:60],
)
def test_whoever_takes_the_child_over_wins_nothing(
    server: SearchServer, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = tmp_path / "child.py"
    child.write_text(f"while True: print({said!r}, flush=True)")
    monkeypatch.setattr(module, "_PROGRAM", str(child))
    with pytest.raises(SearchFailed, match="broke off"):
        ask(server)
    assert server.asked == []


def test_the_process_that_searches_never_loads_the_library() -> None:
    """Its client of its own would be in reach; and it takes a second."""
    program = (
        "import sys; from habakkuk.search.service import Search; Search();"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'ddgs', 'primp'}))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "[]\n"


def test_the_query_is_data(server: SearchServer) -> None:
    seen: list[Asked] = []

    def answer(asked: Asked) -> Told:
        seen.append(asked)
        return page(FOUND)

    server.answers[DUCK] = answer
    odd = "a&q=b#c\" --engines '%00' \ud800 ½"
    with pytest.raises(UnicodeEncodeError):
        odd.encode()
    ask(server, odd.replace("\ud800", "\ufffd"))
    assert seen[0].fields["q"] == odd.replace("\ud800", "\ufffd")
