"""Everybody can use it: axe finds nothing, and the keyboard alone is enough."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from playwright.sync_api import expect

from habakkuk.conversations.types import Address, Target
from tests.browser.conftest import Opening
from tests.browser.window import Window
from tests.fakes.stack import until

_RICH = """A plan

# Heading

- one
- `two`

```python
print("x")
```

| a | b |
|---|---|
| 1 | [link](https://example.org) |
"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_on_any_page(
    opening: Opening, width: int, scheme: Literal["light", "dark"]
) -> None:
    window = opening(width, scheme)
    window.stack.start()
    window.served.ask(_RICH, "rich")
    window.served.ask('[[tool look {}]] [[tool misbehave {"how": "raise"}]] go', "rich")
    window.served.ask("Broken [[status 400]]", "rich")
    window.served.send("[[tool effect {}]] go", "ask", agent="careful")
    asks = {"questions": [{"question": "Which?", "choices": ["red", "green"]}]}
    window.served.send(f"[[tool clarify {json.dumps(asks)}]] go", "clarify")
    window.served.send('[[tool look {"seconds": 1.5}]] [[next]] work', "held")
    until(lambda: len(window.stack.trace("looks.log")) == 2)
    window.served.client.post("/api/chat/held/pause")
    window.served.send("Go [[delay 0.2]] [[tokens 500]]", "run")
    window.served.send("queued", "run")
    stranger = Address("telegram", "bot", "7")
    window.stack.container.pairings.knock(stranger, "7", "Bob", Target("bot", "7"))
    places = {
        "/": "text=What shall be done?",
        "/?list": ".list .item",
        "/c/rich": ".message.agent >> nth=2",
        "/c/ask": ".approval",
        "/c/clarify": ".choices",
        "/c/held": "text=Paused. /resume",
        "/c/run": ".queue li",
        "/overview": ".state.paused",
        "/usage": ".rows td >> nth=0",
        "/channels": "text=Asking to come in",
        "/jobs?state=all": ".rows td >> nth=0",
        "/jobs?state=aside": ".filters",
    }
    wrong = {}
    for path, place in places.items():
        window.go(path)
        expect(window.page.locator(place).first).to_be_visible()
        if found := window.violations():
            wrong[path] = found
    window.go("/c/run")
    window.button("Stop").click()
    assert wrong == {}


def test_the_keyboard_alone_writes_reads_and_allows(window: Window) -> None:
    page = window.go()
    page.keyboard.press("Control+k")
    page.keyboard.type("[[tool effect {}]] go")
    page.keyboard.press("Enter")
    expect(window.answers).to_have_count(1)
    page.keyboard.press("Control+k")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("/")
    page.locator("body").press("Tab")
    window.served.send("[[tool effect {}]] go", "ask", agent="careful")
    window.go("/c/ask")
    expect(page.locator(".approval")).to_be_visible()
    for _ in range(30):
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent").strip() == "Allow once":
            break
    page.keyboard.press("Enter")
    expect(window.answers).to_contain_text("done call")


def test_question_mark_shows_the_keys_and_the_focus_comes_back(window: Window) -> None:
    page = window.go("/overview")
    link = page.get_by_role("link", name="Jobs")
    link.focus()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(link).to_be_focused()


def test_a_slash_goes_to_the_message_box(window: Window) -> None:
    page = window.go()
    page.locator("#theme").focus()
    page.keyboard.press("/")
    expect(window.box).to_be_focused()
    expect(window.box).to_have_value("")


def test_a_finished_answer_is_announced_once(window: Window) -> None:
    page = window.go("/c/c")
    log = page.get_by_role("log")
    window.say("Go [[delay 0.05]] [[tokens 30]]")
    expect(log).to_have_attribute("aria-busy", "true")
    expect(log).to_have_attribute("aria-live", "off")
    said = page.locator(".talk > .unseen[role=status]")
    expect(said).to_contain_text("token29")
    expect(log).to_have_attribute("aria-busy", "false")


def test_the_theme_is_chosen_and_remembered(window: Window) -> None:
    page = window.go()
    root = page.locator("html")
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.goto(window.base_url + "/overview")
    expect(root).to_have_attribute("data-theme", "dark")
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == "rgb(22, 20, 18)"
