"""A window whose line breaks again and again shows exactly what is stored."""

from __future__ import annotations

import random

import pytest
from playwright.sync_api import expect

from habakkuk.conversations.types import Address
from habakkuk.gateway.types import Admitted
from tests.browser.conftest import Opening
from tests.browser.line import Line
from tests.browser.window import Window
from tests.fakes.stack import Points, Stack
from tests.integration.web.served import Served

CUTS = 100
_SHOWN = """() => [...document.querySelectorAll('.message.user .said, .message.agent .prose')]
    .map((element) => element.innerText)"""


def _stored(stack: Stack, name: str) -> list[str]:
    address = Address("web", "web", f"{stack.owner.id}/{name}")
    found = stack.container.conversations.find(stack.principal, address)
    rows = stack.container.conversations.after(found.id, 0)
    return [row.body for row in rows]


@pytest.mark.slow
def test_a_hundred_cuts_show_exactly_the_transcript(opening: Opening, served: Served) -> None:
    chance = random.Random(7)
    with Line(served.server.server_port) as line:
        served.stack.start()
        window = opening(base_url=line.base_url)
        page = window.go("/c/cuts")
        cuts = 0
        turn = 0
        while cuts < CUTS:
            turn += 1
            window.served.send(f"Round {turn} [[delay 0.01]] [[tokens 100]]", "cuts")
            for _ in range(20):
                page.wait_for_timeout(chance.uniform(10, 100))
                cuts += line.cut() > 0
        expect(window.answers).to_have_count(turn, timeout=60_000)
        assert page.evaluate(_SHOWN) == _stored(window.stack, "cuts")


def test_a_worker_that_dies_in_mid_stream_leaves_one_answer(window: Window) -> None:
    window.stack.stop()
    window.stack.start(Points({"model.text": 25}))
    page = window.go()
    window.say("Go [[delay 0.02]] [[tokens 60]]")
    expect(page.locator(".growing")).to_contain_text("token15")
    window.stack.stop()
    (job,) = window.stack.container.jobs.list(most=1)
    window.stack.take_over(Admitted("", "", 0, job.id))
    window.stack.start()
    expect(window.answers).to_have_count(1)
    text = "echo: Go " + " ".join(f"token{n}" for n in range(60))
    assert window.answers.locator(".prose").inner_text() == text
