"""Odd content stays within its place, and what can be done with it stays in reach."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Opening
from tests.browser.window import Window

_TABLE = """Look:

| Field | Crop | Who |
|---|---|---|
| North | barley | Donaudampfschifffahrtsgesellschaftskapitaensmuetzenfabrikantenvereinigung |
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_long_queued_message_leaves_its_buttons_in_reach(opening: Opening, width: int) -> None:
    window = opening(width)
    window.stack.start()
    window.served.send("Go [[delay 0.1]] [[tokens 500]]", "c")
    window.served.send("many words " * 100, "c")
    window.go("/c/c")
    for name in ("Edit", "Withdraw"):
        expect(window.button(name)).to_be_in_viewport(ratio=1)
    window.button("Stop").click()


def test_a_table_keeps_its_words_whole(opening: Opening) -> None:
    window = opening(390)
    window.stack.start()
    window.served.ask(_TABLE, "c")
    window.go("/c/c")
    cell = window.answers.get_by_role("cell", name="barley")
    lines = cell.evaluate("""cell => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return new Set([...range.getClientRects()].map((box) => box.top)).size;
    }""")
    assert lines == 1


def test_a_list_from_right_to_left_has_its_numbers_on_the_page(window: Window) -> None:
    window.served.ask("echo\n\n1. ראשון\n2. שני\n\n> ציטוט", "c")
    window.go("/c/c")
    expect(window.answers.get_by_role("list")).to_have_css("direction", "rtl")
    expect(window.answers.locator("blockquote")).to_have_css("direction", "rtl")


def test_what_is_written_while_an_answer_runs_has_room_beside_its_buttons(
    opening: Opening,
) -> None:
    window = opening(390)
    window.stack.start()
    window.served.send("Go [[delay 0.1]] [[tokens 500]]", "c")
    page = window.go("/c/c")
    expect(page.locator(".growing")).to_be_visible()
    window.box.fill("use tabs and no spaces")
    for name in ("Steer", "Pause", "Stop", "Queue"):
        expect(window.button(name)).to_be_in_viewport(ratio=1)
    written = window.box.bounding_box()
    assert written is not None
    assert written["width"] > 250
    window.button("Stop").click()


def test_questions_make_the_overview_no_longer_than_they_are(opening: Opening) -> None:
    """What is only for screen readers stood below everything, on an empty page."""
    window = opening(390)
    window.stack.start()
    asks = '{"questions": [{"question": "Which?", "choices": ["red"]}]}'
    for name in ("one", "two", "three"):
        window.served.send(f"[[tool clarify {asks}]] go", name)
    page = window.go("/overview")
    expect(page.locator(".approval")).to_have_count(3)
    height = page.evaluate("document.documentElement.scrollHeight")
    assert height == page.evaluate("innerHeight")
