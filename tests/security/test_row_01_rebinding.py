"""Row 1: a name that answers a public address first and a private one later."""

from __future__ import annotations

from habakkuk.core.http import Limits
from habakkuk.core.interrupt import Interrupt
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, response


def test_the_checked_answer_is_the_one_that_is_called(
    network: FakeNetwork, pages: PageServer
) -> None:
    network.names["turning.example"] = [[PUBLIC], ["127.0.0.1"]]
    pages.answers["/"] = response(b"the real one")
    found = network.web().get("http://turning.example/", Limits(), Interrupt())
    assert found.body == b"the real one"
    assert network.connected == [PUBLIC]
    assert network.asked == ["turning.example"]


def test_the_server_is_told_the_name_not_the_address(
    network: FakeNetwork, pages: PageServer
) -> None:
    network.names["turning.example"] = [[PUBLIC]]
    network.web().get("http://turning.example/", Limits(), Interrupt())
    assert pages.seen[0].headers["host"] == "turning.example"


def test_the_next_of_several_checked_answers_is_tried_when_one_does_not_answer(
    network: FakeNetwork, pages: PageServer
) -> None:
    network.names["two.example"] = [["2606:2800:220:1:248:1893:25c8:1946", PUBLIC]]
    pages.answers["/"] = response(b"over the second")
    assert (
        network.web().get("http://two.example/", Limits(), Interrupt()).body == b"over the second"
    )
