"""The chat as a person uses it."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from sqlalchemy import text

from tests.browser.conftest import Opening
from tests.browser.window import Window, violations
from tests.fakes.stack import until


def test_an_answer_streams_and_stays(window: Window) -> None:
    page = window.go()
    window.say("Hello [[delay 0.05]] [[tokens 40]]")
    growing = page.locator(".growing")
    expect(growing).to_contain_text("token3")
    expect(window.answers).to_contain_text("token39")
    expect(growing).to_have_count(0)
    expect(window.answers.locator(".under")).to_contain_text("mine/fake-model")


def test_a_new_conversation_has_an_address_and_a_title(window: Window) -> None:
    page = window.go()
    window.ask("The harvest plan\nwith a second line")
    expect(page).to_have_url(re.compile(r"/c/c-"))
    expect(page.get_by_role("heading", level=1)).to_have_text("The harvest plan")
    expect(page.locator(".list .item")).to_have_text(re.compile("The harvest plan"))
    expect(page).to_have_title("The harvest plan · Habakkuk")


def test_a_reload_in_mid_stream_loses_nothing(window: Window) -> None:
    page = window.go()
    window.say("Go [[delay 0.03]] [[tokens 100]]")
    expect(page.locator(".growing")).to_contain_text("token5")
    page.reload()
    expect(page.locator(".growing")).to_contain_text("token0 token1 token2")
    expect(window.answers).to_contain_text("token99")
    text = window.answers.locator(".prose").inner_text()
    assert text == "echo: Go " + " ".join(f"token{n}" for n in range(100))


def test_stop_stands_where_send_was_and_keeps_what_was_said(window: Window) -> None:
    page = window.go()
    window.say("Go [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_contain_text("token2")
    expect(window.button("Send")).to_have_count(0)
    window.button("Stop").click()
    expect(window.answers).to_contain_text("token2")
    expect(window.answers).to_contain_text("Stopped.")
    expect(window.button("Send")).to_be_visible()


def test_escape_stops_too(window: Window) -> None:
    page = window.go()
    window.say("Go [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_contain_text("token1")
    page.keyboard.press("Escape")
    expect(window.answers).to_contain_text("Stopped.")


def test_a_queued_message_is_edited_and_another_withdrawn(window: Window) -> None:
    page = window.go()
    window.say("First [[delay 0.1]] [[tokens 60]]")
    expect(page.locator(".growing")).to_be_visible()
    window.say("second")
    window.say("third")
    rows = window.queue.get_by_role("listitem")
    expect(rows).to_have_count(2)
    rows.nth(0).get_by_role("button", name="Edit").click()
    window.page.get_by_label("Edit the queued message").fill("second, better")
    window.page.keyboard.press("Enter")
    expect(rows.nth(0)).to_contain_text("second, better")
    rows.nth(1).get_by_role("button", name="Withdraw").click()
    expect(rows).to_have_count(1)
    window.button("Stop").click()
    expect(window.answers.last).to_contain_text("echo: second, better")
    assert "third" not in [request.text for request in window.stack.model.requests]
    expect(page.get_by_text("third", exact=True)).to_have_count(0)


def test_arrow_up_edits_the_last_queued_message(window: Window) -> None:
    page = window.go()
    window.say("First [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_be_visible()
    window.say("second")
    expect(window.queue).to_contain_text("second")
    window.box.press("ArrowUp")
    expect(page.get_by_label("Edit the queued message")).to_have_value("second")
    page.keyboard.press("Escape")
    window.button("Stop").click()


def test_tool_cards_tell_what_ran_and_errors_stay_open(window: Window) -> None:
    page = window.go()
    window.ask('[[tool look {}]] [[tool misbehave {"how": "raise"}]] go')
    cards = page.locator(".card[data-call]")
    expect(cards).to_have_count(2)
    expect(cards.nth(0)).not_to_have_attribute("open", "")
    expect(cards.nth(1)).to_have_class(re.compile("failed"))
    expect(cards.nth(1)).to_contain_text("misbehave failed")
    page.reload()
    expect(cards.nth(1)).to_contain_text("misbehave failed")


def test_a_card_that_was_opened_stays_open(window: Window) -> None:
    page = window.go()
    window.say('[[tool look {}]] [[next]] [[tool effect {"after": 1}]] [[tokens 3]] go')
    card = page.locator(".card[data-call]").first
    expect(card).to_contain_text("look")
    card.locator("summary").click()
    expect(card).to_contain_text("all is well")
    expect(window.answers).to_contain_text("token2")
    expect(page.locator(".card[data-call]").first).to_contain_text("all is well")


def test_many_calls_fold(window: Window) -> None:
    page = window.go()
    window.ask(" ".join(["[[tool look {}]]"] * 4) + " go")
    fold = page.locator(".folded")
    expect(fold.locator("> summary")).to_contain_text("4 steps")
    expect(fold.locator(".card")).to_have_count(0)
    fold.locator("> summary").click()
    expect(fold.locator(".card")).to_have_count(4)


def test_a_failed_turn_offers_another_try(window: Window) -> None:
    page = window.go()
    failing = window.ask("Broken [[status 400]]")
    expect(failing.locator(".aside.error")).to_be_visible()
    window.button("Retry").click()
    expect(page.locator(".message.user")).to_have_count(2)
    expect(window.answers).to_have_count(2)


def test_an_answer_is_copied_as_it_was_written(window: Window) -> None:
    page = window.go()
    window.ask("**bold** words")
    window.answers.get_by_role("button", name="Copy").click()
    expect(window.answers.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "echo: **bold** words"


def test_a_lost_line_is_said_and_heals(window: Window) -> None:
    page = window.go()
    window.ask("Hello")
    window.page.route("**/events*", lambda route: route.abort())
    window.served.stack.container.live.hint("none")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.reload()
    expect(page.locator(".line")).to_contain_text("comes back by itself")
    page.unroute("**/events*")
    expect(page.locator(".line")).to_have_count(0)
    window.ask("Again")


def test_a_message_that_did_not_arrive_is_kept_and_sent_again_once(window: Window) -> None:
    page = window.go()
    page.route("**/api/chat", lambda route: route.abort())
    window.say("Hello")
    expect(page.get_by_text("Not sent.")).to_be_visible()
    page.unroute("**/api/chat")
    window.button("Send again").click()
    expect(window.answers).to_have_count(1)
    expect(page.locator(".message.user")).to_have_count(1)


def test_an_approval_shows_exactly_what_would_run_and_allows_it(window: Window) -> None:
    window.served.send('[[tool effect {"after": 0.01}]] go', "ask", agent="careful")
    page = window.go("/c/ask")
    card = page.locator(".approval")
    expect(card).to_contain_text("careful wants to use effect")
    expect(card.get_by_label("What would run")).to_contain_text('"after": 0.01')
    expect(card).to_contain_text("min left")
    expect(page.locator("#approvals")).to_have_text("1")
    card.get_by_role("button", name="Allow once").click()
    expect(window.answers).to_contain_text("done call")
    expect(card).to_have_count(0)
    expect(page.locator("#approvals")).to_be_hidden()


ASKED = """[[tool clarify {"questions": [
    {"question": "Which \u05e6\u05d1\u05e2?", "choices": ["red", "\u05d9\u05e8\u05d5\u05e7"]}
]}]] go"""


def test_a_choice_answers_a_question_and_both_stay(window: Window) -> None:
    window.served.send(ASKED.replace("\n", ""), "ask")
    page = window.go("/c/ask")
    card = page.locator(".approval")
    expect(card).to_contain_text("habakkuk asks")
    expect(card).to_contain_text("min left")
    expect(page.locator("#approvals")).to_have_text("1")
    assert violations(page) == []
    choice = card.get_by_role("button", name="\u05d9\u05e8\u05d5\u05e7")
    choice.focus()
    page.keyboard.press("Enter")
    expect(window.answers).to_contain_text("The user answered: \u05d9\u05e8\u05d5\u05e7")
    expect(card).to_have_count(0)
    expect(page.locator(".message.command")).to_contain_text("habakkuk asks: Which")
    expect(page.locator(".message.command")).to_contain_text("A. red")
    expect(page.locator(".message.user").last).to_contain_text("\u05d9\u05e8\u05d5\u05e7")


def test_any_words_answer_a_question(window: Window) -> None:
    window.served.send(ASKED.replace("\n", ""), "ask")
    page = window.go("/c/ask")
    page.get_by_label("Your answer").fill("dark blue")
    page.keyboard.press("Enter")
    expect(window.answers).to_contain_text("The user answered: dark blue")
    expect(page.locator(".approval")).to_have_count(0)


def test_what_a_question_asks_is_shown_once_and_what_is_written_answers_it(window: Window) -> None:
    window.served.send(ASKED.replace("\n", ""), "ask")
    page = window.go("/c/ask")
    expect(page.locator(".approval")).to_be_visible()
    call = page.locator(".card[data-call]")
    expect(call).to_contain_text("waits for you")
    expect(call).not_to_have_attribute("open", "")
    expect(window.box).to_have_attribute("placeholder", "Write your answer")
    window.stack.read_questions()
    window.box.fill("dark blue")
    expect(window.button("Steer")).to_have_count(0)
    expect(window.button("Pause")).to_have_count(0)
    page.locator(".composer").get_by_role("button", name="Answer").click()
    expect(window.answers).to_contain_text("The user answered: dark blue")


def test_a_turn_is_paused_guided_and_goes_on(window: Window) -> None:
    page = window.go()
    window.say('[[tool look {"seconds": 3}]] [[next]] [[tool look {}]] work')
    window.button("Pause").click()
    expect(page.locator(".answering")).to_contain_text("Pauses after this step")
    expect(window.button("Pause")).to_have_count(0)
    expect(page.locator(".answering")).to_have_text("Paused")
    expect(page.locator(".list .busy")).to_have_text("paused")
    assert violations(page) == []
    window.box.fill("use tabs")
    window.button("Steer").click()
    expect(window.queue).to_contain_text("use tabs")
    expect(page.get_by_text("/steer use tabs")).to_have_count(0)
    window.button("Resume").click()
    expect(window.answers).to_contain_text("echo: use tabs", timeout=15_000)


def test_a_denial_carries_its_reason_to_the_agent(window: Window) -> None:
    window.served.send("[[tool effect {}]] go", "ask", agent="careful")
    page = window.go("/c/ask")
    page.locator(".approval").get_by_role("button", name="Deny").click()
    page.get_by_label("Why not").fill("not on a Sunday")
    page.keyboard.press("Enter")
    expect(window.answers).to_contain_text("not on a Sunday")
    assert window.stack.trace("effects.log", "careful") == []


def test_a_shell_cannot_be_allowed_for_the_session(window: Window) -> None:
    window.served.send('[[tool exec {"command": "sh -c true"}]] go', "ask", agent="careful")
    page = window.go("/c/ask")
    expect(page.locator(".approval")).to_contain_text("sh -c true")
    expect(window.button("Allow for this session")).to_have_count(0)


def test_the_end_is_followed_only_by_who_is_there(window: Window) -> None:
    window.served.ask("long\n\n" + "line\n\n" * 60, "c")
    page = window.go("/c/c")
    thread = page.locator(".thread")
    bottom = "e => e.scrollHeight - e.scrollTop - e.clientHeight < 50"
    until(lambda: thread.evaluate(bottom))
    thread.evaluate("e => e.scrollBy(0, -400)")
    expect(page.locator(".pill")).to_have_text("Latest")
    window.served.ask("another", "c")
    expect(page.locator(".pill")).to_contain_text("new")
    assert not thread.evaluate(bottom)
    page.locator(".pill").click()
    until(lambda: thread.evaluate(bottom))
    expect(page.locator(".pill")).to_have_count(0)


def test_right_to_left_text_begins_at_the_right(window: Window) -> None:
    window.go()
    answer = window.ask("[[tool look {}]] مرحبا")
    said = window.page.locator(".message.user .said")
    assert said.evaluate("e => getComputedStyle(e).direction") == "ltr"
    window.ask("مرحبا، كيف الحال")
    last = window.page.locator(".message.user .said").last
    assert last.evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert answer.locator(".prose p").first.get_attribute("dir") == "auto"


def test_a_narrow_screen_shows_one_column(opening: Opening) -> None:
    window = opening(390)
    window.stack.start()
    window.served.ask("Hello", "c")
    page = window.go("/c/c")
    expect(page.locator(".list")).to_be_hidden()
    expect(window.box).to_be_visible()
    page.get_by_role("link", name="Conversations").click()
    expect(page.locator(".list")).to_be_visible()
    expect(page.locator(".talk")).to_be_hidden()
    page.locator(".list .item").click()
    expect(window.box).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == 390


def test_another_window_shows_at_once_what_became_of_the_queue(opening: Opening) -> None:
    """The next look of its own would come after five seconds: it is put off for ever here."""
    window, other = opening(), opening()
    window.stack.start()
    other.page.clock.install()
    window.served.send("First [[delay 0.1]] [[tokens 500]]", "c")
    window.go("/c/c")
    other.go("/c/c")
    expect(other.page.locator(".growing")).to_be_visible()
    window.say("second")
    window.say("third")
    other.page.clock.run_for(2000)
    rows = other.queue.get_by_role("listitem")
    expect(rows).to_have_count(2)
    window.queue.get_by_role("button", name="Edit").first.click()
    window.page.get_by_label("Edit the queued message").fill("second, better")
    window.page.keyboard.press("Enter")
    expect(rows.first).to_contain_text("second, better")
    window.queue.get_by_role("button", name="Withdraw").last.click()
    expect(rows).to_have_count(1)
    expect(other.page.get_by_text("third", exact=True)).to_have_count(0)
    window.button("Stop").click()


def test_an_edited_message_keeps_its_lines(window: Window) -> None:
    page = window.go()
    window.say("First [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_be_visible()
    window.say("one\ntwo")
    window.queue.get_by_role("button", name="Edit").click()
    field = page.get_by_label("Edit the queued message")
    field.press("Shift+Enter")
    field.press_sequentially("three")
    field.press("Enter")
    expect(field).to_have_count(0)
    window.button("Stop").click()
    expect(window.answers).to_have_count(2)
    assert window.stack.model.requests[-1].text.endswith("one\ntwo\nthree")


def test_what_could_not_be_sent_is_there_after_a_reload(window: Window) -> None:
    window.served.ask("before", "c")
    page = window.go("/c/c")
    page.route("**/api/chat", lambda route: route.abort())
    window.say("do not lose me")
    expect(page.get_by_text("Not sent.")).to_be_visible()
    page.reload()
    expect(page.locator(".message.user .said").last).to_have_text("do not lose me")
    page.unroute("**/api/chat")
    window.button("Send again").click()
    expect(window.answers.last).to_contain_text("echo: do not lose me")
    page.reload()
    expect(window.answers).to_have_count(2)
    expect(page.get_by_text("do not lose me", exact=True)).to_have_count(1)


def test_a_message_that_was_stopped_before_its_turn_is_gone_as_after_a_reload(
    opening: Opening,
) -> None:
    window = opening()
    page = window.go()
    window.say("never begun")
    window.button("Stop").click()
    expect(window.answers).to_contain_text("Stopped.")
    said = page.get_by_text("never begun", exact=True).and_(page.locator(".said"))
    expect(said).to_have_count(0)
    page.reload()
    expect(window.answers).to_contain_text("Stopped.")
    expect(said).to_have_count(0)


def test_an_event_begins_a_turn_that_is_shown_with_its_own_steps_once(window: Window) -> None:
    """As the end of a background process does, while the page is open and after a reload."""
    page = window.go()
    window.ask("Hello")
    (row,) = window.stack.container.database.run(text("SELECT channel, chat FROM conversations"))
    assert row.channel == "web"
    chat = row.chat
    window.stack.say("It ended. [[tool look {}]] go", chat, event=True, remote_id="process:p_1")
    event = page.locator("article.command", has_text="It ended.")
    expect(window.answers.last).to_contain_text("results: ")
    for _ in range(2):
        expect(event).to_have_count(1)
        expect(page.locator(".card[data-call]")).to_have_count(1)
        expect(window.answers.filter(has=page.locator(".card[data-call]"))).to_have_count(1)
        page.reload()
