"""The bars of the face: small at first sight, quick with long conversations, smooth streams.

The times are what was promised, of the page's own work: on the wall a busy machine proves nothing.
"""

from __future__ import annotations

import gzip
import json

from playwright.sync_api import Browser, Response, expect
from sqlalchemy import text

from tests.browser.conftest import Opening
from tests.browser.window import Window

FIRST_LOAD = 120_000
OPENS_MS = 1000
FRAME_MS = 50
_LONG = text("""
    INSERT INTO chat_messages (conversation_id, seq, author, body, state)
    SELECT c.id, n, CASE WHEN n % 2 = 0 THEN 'agent' ELSE 'user' END,
           'Message number ' || n || ' with **bold** words, `code`:' || E'\\n\\n- a\\n- b', 'sent'
    FROM conversations c, generate_series(2, 5001) AS n
""")


def test_the_first_load_is_small(opening: Opening) -> None:
    window = opening()
    sizes: dict[str, int] = {}
    window.page.on("response", lambda answer: sizes.update({answer.url: _packed(answer.body())}))
    window.go()
    window.page.wait_for_load_state("networkidle")
    assert len(sizes) > 10
    assert sum(sizes.values()) < FIRST_LOAD, sizes


def _packed(body: bytes) -> int:
    return len(gzip.compress(body, 6))


def test_files_are_kept_for_good_and_packed(opening: Opening) -> None:
    window = opening()
    answers: list[Response] = []

    def note(answer: Response) -> None:
        answers.append(answer)

    window.page.on("response", note)
    window.go()
    files = [answer for answer in answers if "/static/" in answer.url]
    assert files
    for answer in files:
        assert "immutable" in answer.headers["cache-control"], answer.url
    scripts = [answer for answer in files if answer.url.endswith("chat.js")]
    assert [answer.headers.get("content-encoding") for answer in scripts] == ["gzip"]


def test_five_thousand_messages_open_in_a_second(opening: Opening, browser: Browser) -> None:
    """In the page's own time on the processor: how long the machine was busy proves nothing."""
    window = opening()
    window.served.send("first", "c")
    window.stack.container.database.run(_LONG)
    browser.start_tracing(page=window.page, categories=["toplevel"])
    page = window.go("/c/c")
    expect(page.get_by_text("Message number 5001")).to_be_visible()
    tasks = _main_tasks(browser.stop_tracing())
    assert len(tasks) > 10
    assert sum(tasks) < OPENS_MS
    window.page.locator(".thread").evaluate("e => e.scrollTo(0, 100)")
    expect(window.page.get_by_text("Message number 4930", exact=False)).to_have_count(1)


def test_a_long_stream_keeps_its_frames(window: Window, browser: Browser) -> None:
    """No task of the page's thread takes longer than a frame may: in its own time on the
    processor, which other programs of the machine do not change."""
    page = window.go("/c/stream")
    browser.start_tracing(page=page, categories=["toplevel"])
    window.say("Go [[delay 0.001]] [[tokens 2000]]")
    expect(window.answers).to_have_count(1, timeout=60_000)
    tasks = _main_tasks(browser.stop_tracing())
    assert len(tasks) > 100
    assert max(tasks) < FRAME_MS


def _main_tasks(trace: bytes) -> list[float]:
    """Return the milliseconds of each task of the renderers' main threads."""
    events = json.loads(trace)["traceEvents"]
    mains = {
        (event["pid"], event["tid"])
        for event in events
        if event.get("name") == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        event["tdur"] / 1000
        for event in events
        if event.get("ph") == "X"
        and event["name"].endswith("RunTask")
        and (event["pid"], event["tid"]) in mains
        and "tdur" in event
    ]


def test_a_stream_is_parsed_once_a_frame_at_most(window: Window) -> None:
    """However many pieces come: finished blocks are left alone."""
    page = window.go("/c/c")
    page.evaluate(
        """() => { window.__touched = 0; new MutationObserver((all) => {
          window.__touched += all.filter((one) => one.target.closest?.('[data-mark]')).length;
        }).observe(document.body, { childList: true, subtree: true, characterData: true }); }"""
    )
    window.say("one\n\ntwo\n\n[[delay 0.01]] [[tokens 2000]]")
    expect(page.locator(".growing .piece")).to_have_count(2)
    page.locator(".growing .piece").first.evaluate("e => e.dataset.mark = 'yes'")
    expect(page.locator(".growing")).to_contain_text("token150", timeout=20_000)
    assert page.evaluate("window.__touched") == 0
    window.button("Stop").click()
    expect(window.answers).to_have_count(1)
