"""Ending what runs, by people who press more often than they mean to."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.window import Window


def test_escape_twice_or_held_down_stops_one_answer_and_not_what_waits(window: Window) -> None:
    page = window.go()
    window.say("Go [[delay 0.1]] [[tokens 500]]")
    expect(page.locator(".growing")).to_contain_text("token1")
    window.say("next")
    expect(window.queue.get_by_role("listitem")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    # Held down, a key says so itself, again and again.
    page.keyboard.down("Escape")
    for _ in range(3):
        page.keyboard.down("Escape")
    page.keyboard.up("Escape")
    expect(window.answers.first).to_contain_text("Stopped.")
    expect(window.answers.last).to_contain_text("echo: next")
