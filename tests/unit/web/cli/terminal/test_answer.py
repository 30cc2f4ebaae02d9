from __future__ import annotations

from io import StringIO
from itertools import count
from typing import Any

import pytest

from habakkuk.events.types import Event, EventType
from web.cli.terminal.answer import INTERRUPTED, LiveAnswer
from web.cli.terminal.progress import Progress


class _Screen:
    """A terminal and a turn, whose events are numbered as a worker numbers them."""

    def __init__(self, *, live: bool = True) -> None:
        self.out = StringIO()
        self.err = StringIO()
        self.view = LiveAnswer("t", self.out, Progress(self.err, shown=live), live=live)
        self.numbers = count(1)

    def event(self, kind: EventType, step: int = 1, fence: int = 1, **data: Any) -> Event:
        return Event(kind, "s", data.pop("turn", "t"), fence, next(self.numbers), step, data)

    def text(self, text: str, **fields: Any) -> bool:
        return self.view.take(self.event(EventType.TEXT, text=text, **fields))

    def take(self, kind: EventType, **fields: Any) -> bool:
        return self.view.take(self.event(kind, **fields))

    def shown(self, answer: str) -> str:
        self.view.finish(answer)
        return self.out.getvalue()


@pytest.fixture
def screen() -> _Screen:
    return _Screen()


def test_text_is_shown_as_it_comes_and_once(screen: _Screen) -> None:
    screen.text("Hel")
    assert screen.out.getvalue() == "Hel"
    screen.text("lo.")
    assert screen.shown("Hello.") == "Hello.\n"


def test_without_a_terminal_only_the_answer_is_written_at_the_end() -> None:
    screen = _Screen(live=False)
    screen.text("Hel")
    screen.take(EventType.TOOL_STARTED, name="look")
    assert (screen.out.getvalue(), screen.err.getvalue()) == ("", "")
    assert screen.shown("Hello.") == "Hello.\n"


def test_what_no_event_brought_is_written_at_the_end(screen: _Screen) -> None:
    screen.text("Hel")
    assert screen.shown("Hello, you.") == "Hello, you.\n"


def test_an_event_is_shown_once_however_often_it_comes(screen: _Screen) -> None:
    event = screen.event(EventType.TEXT, text="Hello.")
    screen.view.take(event)
    screen.view.take(event)
    assert screen.shown("Hello.") == "Hello.\n"


def test_other_turns_are_not_shown(screen: _Screen) -> None:
    screen.text("theirs", turn="other")
    assert not screen.take(EventType.TURN_ENDED, turn="other")
    assert screen.shown("Hello.") == "Hello.\n"


def test_an_interrupted_step_is_answered_again(screen: _Screen) -> None:
    screen.text("Hel")
    screen.take(EventType.STEP_RESET, fence=2)
    screen.text("Good day.", fence=2)
    assert screen.shown("Good day.") == f"Hel\n{INTERRUPTED}\nGood day.\n"


def test_a_higher_fence_replaces_without_a_reset(screen: _Screen) -> None:
    screen.text("Hel")
    screen.text("Good day.", fence=2)
    assert screen.shown("Good day.") == f"Hel\n{INTERRUPTED}\nGood day.\n"


def test_a_stale_worker_is_not_heard(screen: _Screen) -> None:
    screen.text("Good", fence=2)
    screen.text("stale", fence=1)
    assert screen.shown("Good day.") == "Good day.\n"


def test_a_reset_of_a_step_that_showed_nothing_says_nothing(screen: _Screen) -> None:
    screen.text("I look.", step=1)
    screen.take(EventType.STEP_RESET, step=3, fence=2)
    screen.text("Found.", step=3, fence=2)
    assert screen.shown("Found.") == "I look.\nFound.\n"


def test_a_gap_is_filled_from_the_committed_answer(screen: _Screen) -> None:
    screen.text("one ", at=0)
    screen.text("three", at=8)
    assert screen.shown("one two three") == "one two three\n"


def test_white_space_around_an_answer_is_not_doubled(screen: _Screen) -> None:
    screen.text("\n\nHello.\n\n")
    assert screen.shown("Hello.") == "Hello.\n\n"


def test_a_changed_answer_is_written_whole(screen: _Screen) -> None:
    screen.text("Hel")
    assert screen.shown("Good day.") == "Hel\nGood day.\n"


def test_control_characters_cannot_reach_the_terminal(screen: _Screen) -> None:
    screen.text("a\x1b]0;x\x07b\u202ec\rd")
    answer = "a\x1b]0;x\x07b\u202ec\rd"
    assert screen.shown(answer) == "a\\x1b]0;x\\x07b\\u202ec\\rd\n"


def test_a_pipe_gets_the_exact_answer() -> None:
    assert _Screen(live=False).shown("a\x1b[1mb\r\nc") == "a\x1b[1mb\r\nc\n"


def test_a_tool_is_named_and_gone_before_the_text(screen: _Screen) -> None:
    screen.take(EventType.TOOL_STARTED, name="look")
    assert screen.err.getvalue() == "\rtool look…"
    screen.text("Found.")
    assert screen.err.getvalue().endswith("\r          \r")


def test_the_end_is_told(screen: _Screen) -> None:
    assert screen.take(EventType.TURN_ENDED)
