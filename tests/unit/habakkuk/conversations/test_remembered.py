"""Transcripts that were just seen: what is known of them, and that they take a bounded place."""

from __future__ import annotations

from habakkuk.conversations.remembered import Remembered
from habakkuk.conversations.types import StoredMessage, Transcript
from habakkuk.llm.types import Message, Role, Text


def transcript(length: int, number: int = 0) -> Transcript:
    said = Message(Role.USER, (Text(text="hello"),))
    return Transcript([StoredMessage(n + 1, "job", n, said) for n in range(length)], number=number)


def test_what_was_seen_is_known_once() -> None:
    """Whoever runs a turn takes it, and puts back what it became."""
    remembered = Remembered()
    remembered.put("s", transcript(40))
    found = remembered.get("s", 0)
    assert found is not None
    assert len(found.messages) == 40
    assert remembered.get("s", 0) is None


def test_a_compaction_since_makes_it_nothing() -> None:
    remembered = Remembered()
    remembered.put("s", transcript(40))
    assert remembered.get("s", 1) is None


def test_short_ones_are_not_kept() -> None:
    remembered = Remembered()
    remembered.put("s", transcript(5))
    assert remembered.get("s", 0) is None


def test_the_oldest_go_first() -> None:
    remembered = Remembered(most=100)
    for name in ("a", "b", "c"):
        remembered.put(name, transcript(40))
    assert remembered.get("a", 0) is None
    assert remembered.get("b", 0) is not None
    assert remembered.get("c", 0) is not None


def test_one_that_is_longer_than_all_may_be_is_not_kept() -> None:
    remembered = Remembered(most=100)
    remembered.put("s", transcript(40))
    remembered.put("long", transcript(101))
    assert remembered.get("long", 0) is None
    assert remembered.get("s", 0) is not None


def test_what_is_added_to_a_taken_one_changes_nothing_here() -> None:
    remembered = Remembered()
    given = transcript(40)
    remembered.put("s", given)
    assert isinstance(given.messages, list)
    given.messages.append(given.messages[0])
    found = remembered.get("s", 0)
    assert found is not None
    assert len(found.messages) == 40
