"""Where to look for what was missed."""

from __future__ import annotations

from habakkuk.channels.messages import Event, InboundMessage, Removal
from habakkuk.channels.slack.places import Places


def _message(chat: str, ts: str) -> Event:
    return InboundMessage(f"T1:{chat.rpartition('/')[2]}:{ts}", chat, "U1", "hi")


def test_the_newest_chats_are_kept() -> None:
    places = Places(None, "app")
    kept = None
    for n in range(25):
        kept = places.passed(_message(f"D{n}", f"{1000 + n}.000001"))
    assert kept is not None
    assert list(kept["seen"]) == [f"D{n}" for n in range(5, 25)]


def test_what_comes_late_moves_nothing_back() -> None:
    places = Places(None, "app")
    places.passed(_message("D1", "2000.000002"))
    kept = places.passed(_message("D1", "1999.000001"))
    assert kept == {"identity": "app", "seen": {"D1": "2000.000002"}}
    # Slack's retries take six minutes: what was given up may be older than what came.
    assert places.since() == {"D1": "1400.000002"}


def test_only_what_is_said_directly_is_looked_for() -> None:
    places = Places(None, "app")
    assert places.passed(_message("C1", "1000.000001")) is None
    assert places.passed(_message("D1", "command-5.5.a")) is None
    assert places.passed(Removal("T1:D1:1000.000001", "D1", "U1")) is None
    assert places.passed(_message("T2/D1", "1000.000001")) is not None
    assert list(places.since()) == ["T2/D1"]


def test_the_places_of_another_app_mean_nothing() -> None:
    kept = Places(None, "app").passed(_message("D1", "1000.000001"))
    assert list(Places(kept, "app").since()) == ["D1"]
    assert dict(Places(kept, "another").since()) == {}
