"""The list of conversations, and what can be done with one."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import expect
from sqlalchemy import text

from tests.browser.window import Window

LONG = text("""
    INSERT INTO chat_messages (conversation_id, seq, author, body, state)
    SELECT id, n, 'user', 'Message number ' || n, 'sent'
    FROM conversations, generate_series(3, 300) AS n
""")


def test_search_finds_words_without_spaces(window: Window) -> None:
    window.served.ask("今日は畑の計画について話しましょう", "kanji")
    window.served.ask("something else", "other")
    page = window.go()
    page.get_by_label("Search conversations").fill("計画")
    expect(page.locator(".list .item")).to_have_count(1)
    expect(page.locator(".list mark")).to_have_text("計画")
    page.locator(".list .item").click()
    expect(window.answers).to_contain_text("計画")


def test_a_found_message_is_gone_to_however_long_ago(window: Window) -> None:
    window.served.ask("the needle in the hay", "c")
    window.stack.container.database.run(LONG)
    page = window.go("/")
    page.get_by_label("Search conversations").fill("needle")
    # Before the answer the list still shows the conversation itself, which leads to its end.
    expect(page.locator(".list .hit")).to_be_visible()
    page.locator(".list .item").click()
    found = page.locator(".message[aria-current=location]", has_text="the needle")
    expect(found).to_be_in_viewport()
    page.reload()
    expect(found).to_be_in_viewport()
    page.locator(".pill").click()
    expect(page.get_by_text("Message number 300")).to_be_in_viewport()


def test_a_title_by_hand_stays(window: Window) -> None:
    window.served.ask("First words", "c")
    page = window.go("/c/c")
    page.get_by_text("More", exact=True).click()
    window.button("Rename").click()
    page.get_by_label(re.compile("^Title")).fill("My own title")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("My own title")
    window.ask("More words")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("My own title")
    expect(page.locator(".list .item")).to_contain_text("My own title")


def test_an_archived_conversation_leaves_the_list_and_comes_back(window: Window) -> None:
    window.served.ask("Old things", "c")
    page = window.go("/c/c")
    page.get_by_text("More", exact=True).click()
    window.button("Archive").click()
    expect(page.locator(".list .item")).to_have_count(0)
    window.button("Show archived").click()
    expect(page.locator(".list .item")).to_have_count(1)
    page.get_by_text("More", exact=True).click()
    window.button("Take back").click()
    expect(page.locator(".list .item")).to_have_count(0)
    window.button("Show current").click()
    expect(page.locator(".list .item")).to_have_count(1)


def test_removing_asks_once_more(window: Window) -> None:
    window.served.ask("Gone soon", "c")
    page = window.go("/c/c")
    page.get_by_text("More", exact=True).click()
    window.button("Remove").click()
    window.button("Keep it").click()
    window.button("Remove").click()
    window.button("Remove for good").click()
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.locator(".list .item")).to_have_count(0)


def test_what_is_being_answered_is_not_removed(window: Window) -> None:
    window.served.send("Go [[delay 0.1]] [[tokens 300]]", "c")
    page = window.go("/c/c")
    expect(page.locator(".growing")).to_be_visible()
    page.get_by_text("More", exact=True).click()
    window.button("Remove").click()
    window.button("Remove for good").click()
    expect(page.get_by_role("alert")).to_contain_text("still being answered")
    window.button("Stop").click()
    expect(window.answers).to_have_count(1)


def test_the_export_is_markdown(window: Window, tmp_path: Path) -> None:
    window.served.ask("**Plan** this", "c")
    page = window.go("/c/c")
    page.get_by_text("More", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export as Markdown").click()
    assert download.value.suggested_filename.endswith(".md")
    kept = tmp_path / "export.md"
    download.value.save_as(kept)
    text = kept.read_text()
    assert "echo: **Plan** this" in text
    assert text.startswith("# **Plan** this")


def test_control_k_begins_anew_and_back_returns(window: Window) -> None:
    window.served.ask("Hello", "c")
    page = window.go("/c/c")
    expect(window.answers).to_have_count(1)
    window.box.press("Control+k")
    expect(page).to_have_url(re.compile(r"/$"))
    expect(page.get_by_text("What shall be done?")).to_be_visible()
    page.go_back()
    expect(window.answers).to_have_count(1)


def test_the_list_says_what_is_being_answered(window: Window) -> None:
    window.served.send("Go [[delay 0.1]] [[tokens 300]]", "c")
    page = window.go("/")
    expect(page.locator(".list .item")).to_contain_text("answering")
    window.go("/c/c")
    window.button("Stop").click()
    expect(window.answers).to_have_count(1)
