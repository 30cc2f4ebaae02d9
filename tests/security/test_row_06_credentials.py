"""Row 6: headers that follow a redirect to somebody else."""

from __future__ import annotations

from habakkuk.core.http import Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, redirect, response

_SECRETS = {"Authorization": "Bearer s", "X-Api-Key": "s", "Cookie": "a=b", "X-Anything": "s"}


def test_only_harmless_headers_cross_origins(network: FakeNetwork, pages: PageServer) -> None:
    network.names |= {"one.example": [[PUBLIC]], "two.example": [[PUBLIC]]}
    pages.answers["one.example/"] = redirect("http://two.example/")
    pages.answers["two.example/"] = response()
    sent = {**_SECRETS, "Accept": "text/html", "Accept-Language": "de"}
    network.web().get("http://one.example/", Limits(), Interrupt(), sent)
    first, second = (set(seen.headers) for seen in pages.seen)
    assert {"authorization", "x-api-key", "cookie", "x-anything"} <= first
    assert not {"authorization", "x-api-key", "cookie", "x-anything"} & second
    assert {"accept", "accept-language"} <= second


def test_another_port_is_another_origin(network: FakeNetwork, pages: PageServer) -> None:
    network.names["one.example"] = [[PUBLIC]]
    pages.answers["/"] = redirect("http://one.example:8080/there")
    network.web().get("http://one.example/", Limits(), Interrupt(), _SECRETS)
    assert not {"authorization", "x-api-key", "x-anything"} & set(pages.seen[1].headers)


def test_the_same_origin_keeps_them(network: FakeNetwork, pages: PageServer) -> None:
    network.names["one.example"] = [[PUBLIC]]
    pages.answers["/"] = redirect("/there")
    network.web().get("http://one.example/", Limits(), Interrupt(), _SECRETS)
    assert pages.seen[1].headers["authorization"] == "Bearer s"


def test_they_do_not_come_back_with_a_redirect_home(
    network: FakeNetwork, pages: PageServer
) -> None:
    network.names |= {"one.example": [[PUBLIC]], "two.example": [[PUBLIC]]}
    pages.answers["one.example/"] = redirect("http://two.example/")
    pages.answers["two.example/"] = redirect("http://one.example/back")
    network.web().get("http://one.example/", Limits(), Interrupt(), _SECRETS)
    assert "authorization" not in pages.seen[2].headers


def test_cookies_of_a_page_are_not_sent_to_another(network: FakeNetwork, pages: PageServer) -> None:
    network.names |= {"one.example": [[PUBLIC]], "two.example": [[PUBLIC]]}
    set_cookie = b"set-cookie: id=1; domain=example\r\nlocation: http://two.example/\r\n"
    pages.answers["one.example/"] = response(b"", status="302 Found", more=set_cookie)
    network.web().get("http://one.example/", Limits(), Interrupt())
    assert "cookie" not in pages.seen[1].headers
