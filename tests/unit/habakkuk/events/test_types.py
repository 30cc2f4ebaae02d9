from __future__ import annotations

import pytest

from habakkuk.events.types import Event, EventType, stream_key

EVENT = Event(EventType.TEXT, "ses_1", "turn_1", 7, 3, 2, {"text": "é😀"})


def test_an_event_comes_back_as_it_went() -> None:
    assert Event.decode(EVENT.encode()) == EVENT


def test_the_form_is_the_documented_one() -> None:
    import json

    assert json.loads(EVENT.encode()) == {
        "v": 1,
        "type": "text.delta",
        "session": "ses_1",
        "turn": "turn_1",
        "fence": 7,
        "n": 3,
        "step": 2,
        "data": {"text": "é😀"},
    }


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "[]",
        "5",
        "null",
        "{}",
        '{"v": 2, "type": "text.delta"}',
        '{"v": 1, "type": "no.such", "session": "s", "turn": "t", "fence": 1, "n": 1, "step": 1,'
        ' "data": {}}',
        '{"v": 1, "type": "text.delta", "session": "s"}',
    ],
)
def test_what_is_no_event_is_none(raw: str) -> None:
    assert Event.decode(raw) is None


def test_a_later_claim_stands_after_an_earlier_one() -> None:
    later = Event(EventType.TEXT, "ses_1", "turn_1", 8, 1, 2)
    assert later.position > EVENT.position


def test_the_streams_key_is_the_documented_one() -> None:
    assert stream_key("ses_1") == "hab:1:ev:ses_1"
