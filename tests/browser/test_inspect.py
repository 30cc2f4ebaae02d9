"""What the model saw: in a dialog beside the chat, and as a page of its own."""

from __future__ import annotations

import re
from typing import Any, Literal

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import text

from tests.browser.conftest import Opening
from tests.browser.window import Window
from tests.integration.web.served import Served

LONG = "a" * 120
ADD = text("""
    INSERT INTO usage (id, turn_id, session_id, agent, provider, model, input, output, cache_read,
                       cache_write, reasoning, cost, outcome, seconds, first_token)
    VALUES (:id, :turn, :session, 'habakkuk', 'mine', :model, :input, :output, :cached, 0, 0, :cost,
            :outcome, 75.2, :began)
""")
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def ended(served: Served, words: str, conversation: str = "c", **fields: Any) -> dict[str, Any]:
    """Send a message and return what was sent when its turn has ended."""
    sent = served.send(words, conversation, **fields)
    served.client.get(f"/api/turns/{sent['turn']}?wait=20").raise_for_status()
    return sent


def full(served: Served) -> str:
    """Fill a session until everything that a page can show is there; return its last turn."""
    for number in range(3):
        ended(served, f"part {number} [[tool look {{}}]] " + "word " * 300)
    served.send("/compact", "c")
    sent = ended(served, "שלום, מה אתה רואה? 12 " + LONG)
    row = {"turn": sent["turn"], "session": sent["session"], "model": "model-" + LONG}
    run = served.stack.container.database.run
    run(
        ADD,
        id="a",
        input=12_345,
        output=321,
        cached=9_876,
        cost=0.0123,
        outcome="answered",
        began=0.42,
        **row,
    )
    run(
        ADD,
        id="b",
        input=0,
        output=0,
        cached=0,
        cost=None,
        outcome="rate_limited",
        began=None,
        **row,
    )
    return str(sent["turn"])


def region(page: Page, name: str) -> Any:
    return page.get_by_role("region", name=name, exact=True)


def test_an_answer_leads_to_what_its_model_saw(window: Window) -> None:
    page = window.go()
    answer = window.ask("[[tool look {}]] what is there?")
    answer.get_by_role("link", name="What did it see").click()
    dialog = page.get_by_role("dialog", name="What did the model see")
    expect(dialog.locator(".lead")).to_contain_text("none of them from the provider's cache")
    rows = dialog.locator(".parts tbody tr strong")
    expect(rows).to_have_text(
        [
            "Prompt: identity",
            "Prompt: tools",
            re.compile("^[0-9]+ tools$"),
            "User message",
            "Calls look",
            "1 result",
        ]
    )
    expect(dialog.locator(".calls tbody tr")).to_have_count(2)
    expect(dialog.locator(".calls")).to_contain_text("unknown price")


def test_it_is_in_the_address_and_closing_it_leads_back(window: Window) -> None:
    page = window.go()
    link = window.ask("hello").get_by_role("link", name="What did it see")
    link.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".lead")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/c/[^?]+\?inspect="))
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(link).to_be_focused()
    expect(page).not_to_have_url(re.compile("inspect"))
    page.keyboard.press("Enter")
    page.reload()
    expect(dialog.locator(".lead")).to_be_visible()
    window.button("Close").click()
    expect(dialog).to_be_hidden()


def test_escape_closes_it_and_stops_no_answer(window: Window) -> None:
    page = window.go()
    answer = window.ask("hello")
    window.say("Go [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_be_visible()
    answer.get_by_role("link", name="What did it see").click()
    expect(page.get_by_role("dialog").locator(".lead")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(window.button("Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(window.answers.last).to_contain_text("topped")


def test_a_server_that_is_away_is_said_and_asked_again(window: Window) -> None:
    page = window.go()
    answer = window.ask("hello")
    page.route("**/inspect/*", lambda route: route.abort())
    answer.get_by_role("link", name="What did it see").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/inspect/*")
    dialog.get_by_role("button", name="Try again").click()
    expect(dialog.locator(".lead")).to_be_visible()
    expect(dialog.get_by_role("alert")).to_have_count(0)


def test_a_turn_that_is_gone_is_said(window: Window) -> None:
    window.served.ask("hello", "c")
    page = window.go("/c/c?inspect=none")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("There is no turn")


def test_a_failed_answer_shows_the_calls_that_failed(window: Window) -> None:
    window.served.ask("Broken [[status 400]]", "c")
    page = window.go("/c/c")
    window.answers.get_by_role("link", name="What did it see").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator(".lead")).to_have_text("No model has answered in this turn.")
    expect(dialog.locator(".calls .failed")).to_have_text("bad request")


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_at_once_fits(
    opening: Opening, width: int, scheme: Literal["light", "dark"]
) -> None:
    window = opening(width, scheme)
    window.stack.start()
    turn = full(window.served)
    page = window.go(f"/inspect/{turn}")
    expect(page.locator(".lead")).to_contain_text("9,876 of them (80%) from the provider's cache")
    expect(page.locator(".parts")).to_contain_text("summed up:")
    expect(page.locator(".calls .failed")).to_have_text("rate limited")
    assert page.evaluate(WIDER) == 0
    assert window.violations() == []
    window.go(f"/c/c?inspect={turn}")
    expect(page.get_by_role("dialog").locator(".lead")).to_be_visible()
    expect(window.button("Close")).to_be_in_viewport(ratio=1)
    inside = page.get_by_role("dialog").evaluate("e => e.scrollWidth - e.clientWidth")
    assert inside == 0
    assert window.violations() == []


def test_words_from_right_to_left_are_read_so(window: Window) -> None:
    page = window.go(f"/inspect/{full(window.served)}")
    excerpt = page.locator(".excerpt", has_text="שלום").last
    expect(excerpt).to_have_css("direction", "rtl")


def test_a_long_name_is_cut_and_kept_whole_for_who_asks(window: Window) -> None:
    page = window.go(f"/inspect/{full(window.served)}")
    name = page.locator(".calls strong", has_text="model-").first
    assert name.evaluate("e => e.scrollWidth > e.clientWidth")
    expect(name).to_have_attribute("title", f"mine/model-{LONG}")


def test_without_javascript_it_is_a_page(opening: Opening) -> None:
    window = opening(script=False)
    window.stack.start()
    window.served.ask("hello", "c")
    page = window.page
    page.goto(window.base_url + "/c/c")
    page.get_by_role("link", name="What did it see").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("What did the model see")
    expect(region(page, "Parts")).to_contain_text("hello")
    expect(region(page, "Recalled from memory")).to_contain_text("Nothing yet.")
    expect(region(page, "Model calls of this turn")).to_contain_text("answered")
    page.get_by_role("link", name="To the conversation").click()
    expect(page.locator(".message.agent")).to_contain_text("hello")
