"""A stream that begins to listen when its turn has already spoken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from habakkuk.bootstrap import Container
from habakkuk.conversations.types import Turn
from habakkuk.events.hub import Subscription
from habakkuk.events.types import Event, EventType
from habakkuk.interop.openai_chat import Frame
from tests.unit.web.away import NOBODY, REPLY, TURN
from web.interop.openai_stream import CompletionStream

FRAME = Frame("t", "s", "habakkuk/habakkuk", 1)


def event(number: int, kind: EventType, step: int = 0, **data: Any) -> Event:
    return Event(kind, "s", "t", 7, number, step, data)


# A turn that says something, calls a tool, and then answers.
WHOLE = [
    event(1, EventType.TURN_STARTED),
    event(2, EventType.TEXT, 0, text="Let me look.", at=0),
    event(3, EventType.STEP_DONE, 0),
    event(4, EventType.TEXT, 2, text="the answer", at=0),
    event(5, EventType.TURN_ENDED, 2),
]


class Live:
    """Hears the events from number `first` on; the stored stream has them all up to then."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.replays = 0

    @contextmanager
    def subscribed(self, _: str) -> Iterator[Subscription]:
        subscription = Subscription()
        for one in WHOLE[self.first - 1 :]:
            subscription.put(one)
        yield subscription

    def replay(self, _: str) -> list[Event]:
        self.replays += 1
        return WHOLE[: self.first]


def streamed(live: Live) -> str:
    def turn_with_reply(*_: Any) -> tuple[Turn, Any]:
        return TURN, replace(REPLY, body="the answer")

    parts = SimpleNamespace(
        live=live,
        done=SimpleNamespace(start=lambda: None),
        conversations=SimpleNamespace(turn_with_reply=turn_with_reply),
    )
    stream = CompletionStream(cast("Container", parts), NOBODY, FRAME, lambda: False, usage=False)
    return b"".join(stream.parts()).decode()


@pytest.mark.parametrize("first", [2, 3, 4])
def test_what_was_said_before_is_read_up(first: int) -> None:
    """The text of a later step begins at 0 again, so no hole in it would tell."""
    text = streamed(Live(first))
    assert text.count("Let me look.") == 1
    assert text.index("Let me look.") < text.index("the answer")


def test_one_that_hears_the_beginning_asks_for_nothing() -> None:
    live = Live(1)
    assert "Let me look." in streamed(live)
    assert live.replays == 0
