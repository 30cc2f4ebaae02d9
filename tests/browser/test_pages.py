"""The overview and the jobs; and what every page shows without JavaScript."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.window import Window
from tests.fakes.stack import until


def test_the_overview_says_what_goes_on_and_keeps_up(window: Window) -> None:
    page = window.go("/overview")
    expect(page.locator(".lead")).to_have_text("Nothing runs and nothing waits for you.")
    window.served.send("Go [[delay 0.1]] [[tokens 500]]", "run")
    window.served.send("next", "run")
    expect(page.locator(".lead")).to_have_text("1 turn runs, 1 is queued.", timeout=10_000)
    page.get_by_role("link", name=re.compile("^Go")).click()
    expect(page.locator(".growing")).to_be_visible()
    window.button("Stop").click()


def test_an_overview_that_cannot_be_refreshed_says_so(window: Window) -> None:
    page = window.go("/overview")
    page.route("**/overview", lambda route: route.abort())
    expect(page.get_by_role("status")).to_contain_text("may be old")
    page.unroute("**/overview")
    expect(page.get_by_text("may be old")).to_have_count(0)


def test_an_approval_is_answered_from_the_overview(window: Window) -> None:
    window.served.send("[[tool effect {}]] go", "ask", agent="careful")
    page = window.go("/c/ask")
    expect(page.locator(".approval")).to_be_visible()
    window.go("/overview")
    window.button("Allow once").click()
    expect(page.locator(".approval")).to_have_count(0)
    window.go("/c/ask")
    expect(window.answers).to_contain_text("done call")


def _clarifying(*questions: dict[str, object]) -> str:
    return f"[[tool clarify {json.dumps({'questions': list(questions)})}]] go"


COLOUR: dict[str, object] = {"question": "Which \u05e6\u05d1\u05e2?", "choices": ["red", 'the "B"']}


def test_a_question_is_answered_by_a_choice_from_the_overview(window: Window) -> None:
    window.served.send(_clarifying(COLOUR), "ask")
    page = window.go("/overview")
    card = page.locator(".approval")
    expect(card).to_contain_text("habakkuk asks")
    expect(card).to_contain_text("Time left")
    expect(page.locator(".lead")).to_have_text("1 waits for an answer of yours.")
    card.get_by_role("button", name='the "B"').click()
    expect(card).to_have_count(0)
    expect(page.locator("#approvals")).to_be_hidden()
    window.go("/c/ask")
    expect(window.answers).to_contain_text('The user answered: the "B"')


def test_several_questions_are_answered_by_words_that_outlive_a_refresh(window: Window) -> None:
    window.served.send(_clarifying(COLOUR, {"question": "And how many?"}), "ask")
    page = window.go("/overview")
    card = page.locator(".approval")
    expect(card.get_by_role("listitem").filter(has_text="A. red")).not_to_have_count(0)
    expect(card.get_by_role("button")).to_have_count(1)
    words = card.get_by_label("Your answer")
    words.fill("A, and three")
    page.locator("#theme").focus()
    window.served.send("Go [[delay 0.1]] [[tokens 500]]", "run")
    expect(page.locator(".lead")).to_contain_text("1 turn runs")
    expect(words).to_have_value("A, and three")
    words.press("Enter")
    expect(card).to_have_count(0)
    window.go("/c/ask")
    expect(window.answers).to_contain_text("The user answered: A, and three")
    window.served.client.post("/api/chat/run/stop")


def test_a_question_that_was_answered_elsewhere_goes_from_the_overview(window: Window) -> None:
    window.served.send(_clarifying(COLOUR), "ask")
    page = window.go("/overview")
    card = page.locator(".approval")
    expect(card).to_be_visible()
    page.route("**/overview", lambda route: route.abort())
    (question,) = window.stack.container.questions.open(window.stack.owner)
    window.stack.container.questions.answer(window.stack.owner, question.id, "blue")
    card.get_by_role("button", name="red").click()
    expect(page.locator("#notes")).to_contain_text("answered already")
    page.unroute("**/overview")
    expect(card).to_have_count(0)


def test_a_paused_turn_is_resumed_from_the_overview(window: Window) -> None:
    window.served.send('[[tool look {"seconds": 1.5}]] [[next]] work', "c")
    until(lambda: window.stack.trace("looks.log"))
    window.served.client.post("/api/chat/c/pause")
    page = window.go("/overview")
    expect(page.locator(".lead")).to_have_text("1 is paused.")
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()
    expect(page.locator(".rows .state")).to_have_text("paused")
    page.get_by_role("button", name=re.compile("^Resume")).click()
    expect(page.get_by_role("heading", name="Paused")).to_have_count(0)
    window.go("/c/c")
    expect(window.answers).to_have_count(1)


def test_the_overview_names_what_is_wrong_and_what_to_do(opening: Opening) -> None:
    window = opening()
    page = window.go("/overview")
    workers = page.locator(".tier", has_text="Workers")
    expect(workers).to_contain_text("No worker runs")
    expect(workers).to_contain_text("./scripts/up")
    expect(workers).to_contain_text("down")


def test_a_failed_job_is_found_by_its_address_and_runs_again(window: Window) -> None:
    window.served.ask("Broken [[status 400]]", "c")
    page = window.go("/jobs")
    expect(page.get_by_text("No such jobs.")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Failed")).click()
    expect(page).to_have_url(re.compile("state=failed"))
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    before = len(window.stack.model.requests)
    page.get_by_role("button", name=re.compile("^Retry")).click()
    until(lambda: len(window.stack.model.requests) > before)
    # The page looks again every 5 s; the refresh after the press may see the job at work.
    expect(page.locator(".rows .state")).to_have_text("failed", timeout=15_000)


def test_a_pending_job_is_cancelled(opening: Opening) -> None:
    window = opening()
    window.served.send("Hello", "c")
    page = window.go("/jobs?state=pending")
    page.get_by_role("button", name=re.compile("^Cancel")).click()
    expect(page.get_by_text("No such jobs.")).to_be_visible()
    page.goto(window.base_url + "/jobs?state=ended")
    expect(page.locator(".rows .state")).to_have_text("cancelled")


def test_older_jobs_are_a_page_away(opening: Opening) -> None:
    window = opening()
    for number in range(103):
        window.served.send("Hello", f"c{number}")
    page = window.go("/jobs")
    expect(page.locator(".rows tbody tr")).to_have_count(100)
    page.get_by_role("link", name="Older").click()
    expect(page.locator(".rows tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Newest").click()
    expect(page.locator(".rows tbody tr")).to_have_count(100)


def test_an_error_is_a_page_with_its_sentence(window: Window) -> None:
    answer = window.page.goto(window.base_url + "/nothing/here")
    assert answer is not None
    assert answer.status == 404
    expect(window.page.get_by_role("heading", level=1)).to_have_text("Not found")
    window.page.get_by_role("link", name="To the chat").click()
    expect(window.box).to_be_visible()


def test_every_page_shows_its_data_without_javascript(opening: Opening) -> None:
    window = opening(script=False)
    window.stack.start()
    window.served.ask("The harvest [[tool look {}]]", "c")
    page = window.page
    page.goto(window.base_url + "/")
    expect(page.get_by_role("link", name=re.compile("The harvest"))).to_be_visible()
    page.get_by_role("link", name=re.compile("The harvest")).click()
    expect(page.locator(".message.agent")).to_contain_text("results: all is well")
    expect(page.locator(".card")).to_contain_text("look")
    page.goto(window.base_url + "/?q=harvest")
    expect(page.locator(".hit")).to_contain_text("harvest")
    page.goto(window.base_url + "/overview")
    expect(page.locator(".tier")).not_to_have_count(0)
    page.goto(window.base_url + "/jobs?state=all")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
