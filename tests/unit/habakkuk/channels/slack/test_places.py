"""Where to look for what was missed."""

from __future__ import annotations

from habakkuk.channels.messages import Event, InboundMessage, Removal
from habakkuk.channels.slack.places import Places, withheld


def _message(chat: str, ts: str) -> Event:
    return InboundMessage(f"T1:{chat.rpartition('/')[2]}:{ts}", chat, "U1", "hi")


def test_the_newest_chats_are_kept() -> None:
    places = Places(None, "app")
    kept = None
    for n in range(60):
        kept = places.passed(_message(f"D{n}", f"{1000 + n}.000001"))
    assert kept is not None
    assert list(kept["seen"]) == [f"D{n}" for n in range(10, 60)]


def test_what_comes_late_moves_nothing_back() -> None:
    places = Places(None, "app")
    places.passed(_message("D1", "2000.000002"))
    kept = places.passed(_message("D1", "1999.000001"))
    assert kept == {"identity": "app", "seen": {"D1": "2000.000002"}}
    # Slack's retries take six minutes: what was given up may be older than what came.
    assert Places(kept, "app").missed == {"D1": "1400.000002"}


def test_only_what_is_said_directly_is_looked_for() -> None:
    places = Places(None, "app")
    assert places.passed(_message("C1", "1000.000001")) is None
    assert places.passed(_message("D1", "command-5.5.a")) is None
    assert places.passed(Removal("T1:D1:1000.000001", "D1", "U1")) is None
    kept = places.passed(_message("T2/D1", "1000.000001"))
    assert list(Places(kept, "app").missed) == ["T2/D1"]


def test_the_places_of_another_app_mean_nothing() -> None:
    kept = Places(None, "app").passed(_message("D1", "1000.000001"))
    assert list(Places(kept, "app").missed) == ["D1"]
    assert Places(kept, "another").missed == {}


def test_what_is_missed_is_kept_until_it_is_read() -> None:
    """A new message of a chat says nothing of those before it."""
    places = Places({"identity": "app", "seen": {"D1": "2000.0", "D2": "2000.0"}}, "app")
    kept = places.passed(_message("D1", "9000.0"))
    assert Places(kept, "app").missed == {"D1": "1400.000000", "D2": "1400.000000"}
    kept = places.read("D1", "3000.0")
    assert Places(kept, "app").missed["D1"] == "3000.0"
    kept = places.done("D1")
    assert Places(kept, "app").missed["D1"] == "8400.000000"
    assert "missed" not in places.done("D2")


def test_chats_that_are_still_to_be_read_are_told_to_who_runs_this() -> None:
    seen = {f"D{n}": f"{2000 + n}.0" for n in range(7)}
    places = Places({"identity": "app", "seen": seen}, "app")
    kept = places.done("D6")
    (told,) = withheld(kept, "app")
    assert told.what == "what was missed in D0, D1, D2, D3, D4 and 1 more chats"
    assert told.since == 1400.0
    assert withheld(kept, "another") == ()
    assert withheld({"identity": "app", "seen": seen}, "app") == ()


def test_a_chat_that_is_gone_is_forgotten() -> None:
    places = Places({"identity": "app", "seen": {"D1": "2000.0"}}, "app")
    assert Places(places.done("D1", gone=True), "app").missed == {}
