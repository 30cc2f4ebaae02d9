"""The model of a session, chosen in its page."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.window import Window


def test_another_model_is_chosen_and_stays(window: Window) -> None:
    page = window.go()
    window.ask("Hello")
    models = page.get_by_role("combobox", name="Model", exact=True)
    models.select_option("mine/other-model")
    expect(page.locator(".talk > header")).to_contain_text("other-model")
    expect(page.locator("#notes")).to_contain_text("Nothing is known of it")
    expect(window.ask("And now?").locator(".under")).to_contain_text("mine/other-model")
    page.reload()
    expect(models).to_have_value("mine/other-model")
    models.select_option("default")
    expect(page.locator(".talk > header")).not_to_contain_text("other-model")


def test_how_hard_it_thinks_is_chosen_too(window: Window) -> None:
    page = window.go()
    window.ask("Hello")
    page.get_by_role("combobox", name="Effort", exact=True).select_option("high")
    expect(page.locator(".talk > header")).to_contain_text("effort high")


def test_a_command_changes_what_the_page_shows(window: Window) -> None:
    page = window.go()
    window.ask("Hello")
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value("default")
    window.say("/model mine/other-model")
    expect(page.get_by_role("combobox", name="Model", exact=True)).to_have_value("mine/other-model")
