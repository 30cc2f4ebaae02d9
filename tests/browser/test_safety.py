"""Hostile text in messages, titles, tool output: nothing executes, nothing loads from outside."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import text

from habakkuk.conversations.types import Address
from tests.browser.attacks import ATTACKS
from tests.browser.conftest import Opening
from tests.browser.window import Window
from tests.fakes.model_script import DONE, Reply, chunk
from tests.fakes.stack import until

# What stands in the places for text, looked at as the browser understood it.
_FOUND = """() => {
  const places = '.prose, .said, .plain, .cut, .hit, h1, td, .aside, pre, bdi, .asked, .approval p';
  const all = [...document.querySelectorAll(places)].flatMap((place) => [
    ...place.querySelectorAll('*')]);
  const bad = 'script,iframe,img,object,embed,link,style,form,input,video,audio,base,meta,template';
  return {
    hit: window.__hit ?? null,
    elements: all.filter((one) => one.matches(bad)).map((one) => one.outerHTML),
    handlers: all.flatMap((one) => [...one.attributes].map((each) => each.name))
      .filter((name) => name.startsWith('on') || name === 'style'),
    links: all.filter((one) => one.matches('a[href]'))
      .map((one) => [new URL(one.href).protocol, one.rel, one.target]),
  };
}"""

_STORED = text("""
    INSERT INTO chat_messages (conversation_id, seq, author, body, state)
    SELECT c.id, 2 * a.n + of, (ARRAY['user', 'agent'])[of + 1], a.body, 'sent'
    FROM conversations c, unnest(CAST(:attacks AS text[])) WITH ORDINALITY AS a(body, n),
         generate_series(0, 1) AS of
""")
_ASKED = text("UPDATE waits SET payload = CAST(:payload AS jsonb)")


def _is_harmless(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(_FOUND)
    assert found["hit"] is None
    assert found["elements"] == []
    assert found["handlers"] == []
    return found


def test_there_are_enough_attacks() -> None:
    assert len(set(ATTACKS)) >= 40


def test_attacks_that_stream_in_are_text(window: Window) -> None:
    window.stack.model.script = lambda _: Reply(
        [
            chunk({"role": "assistant", "content": ""}),
            *(chunk({"content": attack + "\n\n"}) for attack in ATTACKS),
            chunk({}, finish="stop"),
            DONE,
        ]
    )
    page = window.go()
    window.ask("go")
    links = _is_harmless(page)["links"]
    assert links
    assert {protocol for protocol, _, _ in links} <= {"http:", "https:"}
    assert {(rel, target) for _, rel, target in links} == {("noopener noreferrer", "_blank")}


def test_attacks_in_stored_messages_are_text(opening: Opening) -> None:
    """Each one as a message of its own, of a person and of an agent."""
    window = opening()
    window.served.send("first", "c")
    window.stack.container.database.run(_STORED, attacks=list(ATTACKS))
    page = window.go("/c/c")
    until(lambda: _scrolled_to_the_first(page))
    expect(window.answers).to_have_count(len(ATTACKS))
    _is_harmless(page)


def _scrolled_to_the_first(page: Page) -> bool:
    page.locator(".thread").evaluate("e => e.scrollTo(0, 0)")
    return page.get_by_role("button", name="Show earlier messages").count() == 0


def test_attacks_in_titles_and_searches_are_text(opening: Opening) -> None:
    window = opening()
    shelf, own = window.stack.container.shelf, window.stack.principal
    for number, attack in enumerate(ATTACKS):
        window.served.send(f"words {attack}", f"n{number}")
        address = Address("web", "web", f"{own.user.id}/n{number}")
        shelf.name(own, address, attack)
    page = window.go("/c/n1")
    expect(page.locator(".list .item")).to_have_count(50)
    _is_harmless(page)
    page.get_by_label("Search conversations").fill("words <")
    expect(page.locator(".hit").first).to_be_visible()
    _is_harmless(page)
    for path in ("/overview", "/jobs"):
        window.go(path)
        _is_harmless(page)


def test_attacks_in_what_tools_give_are_text(window: Window) -> None:
    folder = window.stack.home / "agents" / "habakkuk" / "workspace"
    folder.mkdir(parents=True)
    (folder / "attacks.txt").write_text("\n".join(ATTACKS))
    page = window.go()
    window.ask('[[tool read_file {"path": "attacks.txt"}]] go')
    page.locator(".card summary").first.click()
    expect(page.locator(".card .plain").last).to_contain_text("__hit")
    _is_harmless(page)


@pytest.mark.parametrize("path", ["/", "/c/c", "/overview", "/jobs"])
def test_attacks_are_text_without_script_too(opening: Opening, path: str) -> None:
    window = opening(script=False)
    for attack in ATTACKS[:10]:
        window.served.send(attack, "c")
    answer = window.page.goto(window.base_url + path)
    assert answer is not None
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    body = answer.text().partition('id="data"')[0]
    for attack in ATTACKS[:10]:
        assert attack not in body


def test_attacks_in_file_names_are_text(window: Window) -> None:
    folder = window.stack.home / "agents" / "habakkuk" / "workspace"
    folder.mkdir(parents=True)
    names = [attack.replace("/", "\u2215")[:60] for attack in ATTACKS]
    for name in names:
        (folder / name).touch()
    hostile = json.dumps({"path": "<img src=x onerror=__hit=1>.txt"})
    page = window.go()
    window.ask(f'[[tool list_dir {{"path": "."}}]] [[tool read_file {hostile}]] go')
    page.locator(".card summary").first.click()
    expect(page.locator(".card .plain").last).to_be_visible()
    _is_harmless(page)


def test_attacks_in_questions_are_text_and_are_answered_as_they_are(window: Window) -> None:
    """As buttons whose press carries them, in lists, and as what is asked."""
    window.served.send('[[tool clarify {"questions": [{"question": "Which?"}]}]] go', "c")
    page = window.go("/overview")
    expect(page.locator(".approval")).to_be_visible()
    half = len(ATTACKS) // 2
    shapes = [
        [{"question": ATTACKS[0], "choices": some}] for some in (ATTACKS[:half], ATTACKS[half:])
    ]
    shapes.append([{"question": attack, "choices": [attack]} for attack in ATTACKS])
    for questions in shapes:
        payload = json.dumps({"questions": questions})
        window.stack.container.database.run(_ASKED, payload=payload)
        for path in ("/overview", "/c/c"):
            window.go(path)
            expect(page.locator(".approval")).to_contain_text("__hit")
            _is_harmless(page)
    window.stack.container.database.run(_ASKED, payload=json.dumps({"questions": shapes[0]}))
    window.go("/overview")
    page.locator(".choices button").first.click()
    expect(page.locator(".approval")).to_have_count(0)
    window.go("/c/c")
    expect(page.locator(".message.user .said").last).to_have_text(ATTACKS[0])
    _is_harmless(page)
