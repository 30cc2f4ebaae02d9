"""Row 5: redirects to where no address may lead."""

from __future__ import annotations

import pytest

from habakkuk.core.http import HttpFailed, HttpRefused, Limits
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, redirect, response


@pytest.fixture
def web(network: FakeNetwork) -> OutsideHttp:
    network.names["start.example"] = [[PUBLIC]]
    return network.web()


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See", "307 Same", "308 Ever"])
@pytest.mark.parametrize(
    "location",
    [
        "http://169.254.169.254/latest/meta-data/",
        "//127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:6379/_INFO",
        "javascript:alert(1)",
    ],
)
def test_each_hop_is_checked(
    status: str, location: str, web: OutsideHttp, network: FakeNetwork, pages: PageServer
) -> None:
    pages.answers["/"] = redirect(location, status)
    with pytest.raises(HttpRefused):
        web.get("http://start.example/", Limits(), Interrupt())
    assert network.connected == [PUBLIC]


def test_five_hops_are_followed(web: OutsideHttp, pages: PageServer) -> None:
    for number in range(5):
        pages.answers[f"/{number}"] = redirect(f"/{number + 1}")
    pages.answers["/5"] = response(b"here")
    found = web.get("http://start.example/0", Limits(), Interrupt())
    assert (found.body, found.url) == (b"here", "http://start.example/5")


def test_a_sixth_is_not(web: OutsideHttp, pages: PageServer) -> None:
    for number in range(6):
        pages.answers[f"/{number}"] = redirect(f"/{number + 1}")
    with pytest.raises(HttpFailed, match="more than 5"):
        web.get("http://start.example/0", Limits(), Interrupt())
    assert len(pages.seen) == 6


def test_a_redirect_that_leads_back_ends(web: OutsideHttp, pages: PageServer) -> None:
    pages.answers["/"] = redirect("/")
    with pytest.raises(HttpFailed, match="redirects"):
        web.get("http://start.example/", Limits(), Interrupt())


def test_a_redirect_without_a_target_is_an_answer(web: OutsideHttp, pages: PageServer) -> None:
    pages.answers["/"] = response(b"choose", status="300 Several")
    assert web.get("http://start.example/", Limits(), Interrupt()).status == 300
