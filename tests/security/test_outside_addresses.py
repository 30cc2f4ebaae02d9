"""The bar: no address of the corpus is reached, in any of three ways; ordinary ones all are.

Each test goes through its whole corpus and names what got through.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from habakkuk.core.http import HttpFailed, HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, redirect
from tests.security import targets

_LIMITS = Limits(seconds=10)
_GOOD = "93.184.216.35"
_URLS = [f"http://{host}/" for host in (*targets.hosts(), *targets.LOCAL_NAMES)]
_ADDRESSES = [*targets.plain(), *targets.embedded()]


def _refused(web: OutsideHttp, url: str) -> bool:
    try:
        web.get(url, _LIMITS, Interrupt())
    except (HttpRefused, HttpFailed):
        return True
    return False


def test_the_corpus_is_large_enough() -> None:
    assert len(set(_URLS)) >= 200
    assert len(set(_ADDRESSES)) >= 100
    assert len(set(targets.ORDINARY)) >= 50


@pytest.mark.parametrize("corpus", [_URLS, targets.MALFORMED], ids=["addresses", "malformed"])
def test_direct(corpus: list[str], network: FakeNetwork) -> None:
    network.names["good.example"] = [[_GOOD]]
    web = network.web()
    assert [url for url in corpus if not _refused(web, url)] == []
    assert network.connected == []


def test_redirect(network: FakeNetwork, pages: PageServer) -> None:
    network.names["start.example"] = [[PUBLIC]]
    web = network.web()
    through = []
    for url in _URLS:
        pages.answers["/"] = redirect(url)
        if not _refused(web, "http://start.example/"):
            through.append(url)
    assert through == []
    assert network.connected == [PUBLIC] * len(_URLS)


def test_redirect_to_malformed(network: FakeNetwork, pages: PageServer) -> None:
    """Some of these are harmless in a redirect: relative, or mended by the joining of both."""
    network.names |= {"start.example": [[PUBLIC]], "good.example": [[_GOOD]]}
    web = network.web()
    for url in targets.MALFORMED:
        pages.answers["/"] = redirect(url)
        _refused(web, "http://start.example/")
    assert set(network.connected) <= {PUBLIC, _GOOD}


def test_rebinding(network: FakeNetwork, pages: PageServer) -> None:
    """The name is public when it is asked first, and not when it is asked again."""
    pages.answers["/"] = redirect("http://turning.example/again")
    web = network.web()
    through = []
    for address in _ADDRESSES:
        network.names["turning.example"] = [[PUBLIC], [address]]
        if not _refused(web, "http://turning.example/"):
            through.append(address)
    assert through == []
    assert network.connected == [PUBLIC] * len(_ADDRESSES)


@pytest.mark.parametrize("bad_first", [True, False])
def test_one_bad_answer_among_good_ones_refuses_all(bad_first: bool, network: FakeNetwork) -> None:
    web = network.web()
    through = []
    for address in _ADDRESSES:
        answers = [address, PUBLIC] if bad_first else [PUBLIC, address]
        network.names["mixed.example"] = [answers]
        if not _refused(web, "http://mixed.example/"):
            through.append(address)
    assert through == []
    assert network.connected == []


def test_ordinary_addresses_are_called(network: FakeNetwork) -> None:
    """Called is enough: the test has no server with a certificate, nor one of IPv6."""

    def is_called(url: str) -> bool:
        own = FakeNetwork(network.port, elsewhere=PUBLIC)
        _refused(own.web(), url)
        return bool(own.connected)

    # At once: those over TLS wait for an answer until their time is over.
    with ThreadPoolExecutor(len(targets.ORDINARY)) as pool:
        called = dict(zip(targets.ORDINARY, pool.map(is_called, targets.ORDINARY), strict=True))
    assert [url for url, was in called.items() if not was] == []
