"""Gap, duplicate and fence cases of the live view (a tab reconnects: K42)."""

from __future__ import annotations

from typing import Any

from habakkuk.events.types import Event, EventType
from habakkuk.interop.live import LiveView


def made(
    kind: EventType, number: int, *, fence: int = 1, step: int = 1, turn: str = "t", **data: Any
) -> Event:
    return Event(kind, "s", turn, fence, number, step, data)


def text(number: int, at: int, said: str, **more: Any) -> Event:
    return made(EventType.TEXT, number, text=said, at=at, **more)


def said(events: list[Event]) -> list[str]:
    return [e.data["text"] for e in events if e.type is EventType.TEXT]


def test_pieces_are_shown_as_they_come() -> None:
    view = LiveView()
    assert said(view.see(text(1, 0, "one "))) == ["one "]
    assert said(view.see(text(2, 4, "two"))) == ["two"]


def test_a_doubled_piece_is_shown_once() -> None:
    view = LiveView()
    view.see(text(1, 0, "one "))
    assert view.see(text(1, 0, "one ")) == []


def test_pieces_between_replay_and_subscription_are_shown_once_and_in_order() -> None:
    view = LiveView()
    shown = said(view.replay([text(1, 0, "a"), text(2, 1, "b"), text(3, 2, "c")]))
    for event in (text(2, 1, "b"), text(3, 2, "c"), text(4, 3, "d")):
        shown += said(view.see(event))
    assert "".join(shown) == "abcd"


def test_a_replay_joins_neighbouring_pieces() -> None:
    assert said(LiveView().replay([text(1, 0, "a"), text(2, 1, "b")])) == ["ab"]


def test_a_piece_that_overlaps_is_cut() -> None:
    view = LiveView()
    view.see(text(1, 0, "abc"))
    assert said(view.see(text(3, 1, "bcde"))) == ["de"]


def test_a_missing_piece_is_noticed_and_filled_from_the_stream() -> None:
    view = LiveView()
    view.see(text(1, 0, "a"))
    assert view.see(text(3, 2, "c")) == []
    assert view.gap
    assert said(view.replay([text(1, 0, "a"), text(2, 1, "b"), text(3, 2, "c")])) == ["bc"]
    assert not view.gap


def test_a_stream_that_lost_its_beginning_says_where_its_text_begins() -> None:
    events = LiveView().replay([text(9, 40, "tail")])
    assert [e.data for e in events] == [{"text": "tail", "at": 40}]


def test_a_later_claim_replaces_what_its_step_showed() -> None:
    view = LiveView()
    view.see(text(1, 0, "dead"))
    events = view.see(text(1, 0, "new", fence=2))
    assert [(e.type, e.step) for e in events] == [(EventType.STEP_RESET, 1), (EventType.TEXT, 1)]


def test_a_reset_that_came_is_not_repeated() -> None:
    view = LiveView()
    view.see(text(1, 0, "dead"))
    assert view.see(made(EventType.STEP_RESET, 2, fence=2)) != []
    events = view.see(text(3, 0, "new", fence=2))
    assert [e.type for e in events] == [EventType.TEXT]


def test_a_worker_that_lost_its_turn_is_not_heard() -> None:
    view = LiveView()
    view.see(text(1, 0, "new", fence=2))
    assert view.see(text(5, 0, "stale", fence=1)) == []


def test_earlier_steps_outlive_a_crash() -> None:
    view = LiveView()
    view.see(text(1, 0, "first", step=1))
    view.see(made(EventType.STEP_RESET, 2, fence=2, step=2))
    assert view.see(text(1, 0, "first", step=1, fence=1)) == []
    assert said(view.see(text(3, 0, "second", step=2, fence=2))) == ["second"]


def test_an_ended_turn_is_not_replayed() -> None:
    events = [
        text(1, 0, "old"),
        made(EventType.TURN_ENDED, 2),
        text(1, 0, "now", fence=2, turn="u"),
    ]
    assert said(LiveView().replay(events)) == ["now"]


def test_a_turn_whose_answer_is_stored_is_not_shown_late() -> None:
    view = LiveView()
    view.see(text(1, 0, "a"))
    assert view.end("t") is True
    assert view.see(text(2, 1, "b")) == []


def test_the_end_is_told_once_and_only_of_what_was_shown() -> None:
    view = LiveView()
    assert view.end("never shown") is False
    view.see(text(1, 0, "a"))
    view.see(made(EventType.TURN_ENDED, 2))
    assert view.end("t") is True
    assert view.end("t") is False


def test_the_next_turn_of_the_session_is_shown_from_its_beginning() -> None:
    view = LiveView()
    view.see(text(1, 0, "abc"))
    view.end("t")
    assert said(view.see(text(1, 0, "xyz", fence=2, turn="u"))) == ["xyz"]


def test_other_events_are_passed_on_once() -> None:
    view = LiveView()
    started = made(EventType.TOOL_STARTED, 3, name="look")
    assert view.see(started) == [started]
    assert view.see(started) == []
