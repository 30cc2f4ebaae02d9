"""Notices and reactions of a turn that takes long (K41, K85)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from habakkuk.channels.contract import Feature
from habakkuk.channels.messages import Reaction
from habakkuk.delivery import progress
from tests.fakes.stack import until
from tests.integration.intake.conftest import Rooms
from tests.integration.intake.wall import ANSWER, LONG, Wall

Can = Callable[[Feature], None]


def test_without_drafts_one_notice_says_that_it_still_works(
    rooms: Rooms, wall: Wall, chatting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.2)
    room = rooms()
    chatting()
    room.stack.start()
    room.say(LONG)
    assert room.told(2) == ["I am still working on this.", ANSWER]


def test_no_notice_follows_the_answer(
    rooms: Rooms, wall: Wall, chatting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is due while the turn runs; the threads are busy until that has been answered."""
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.2)
    late: list[Callable[[], None]] = []
    room = rooms()
    chatting()
    monkeypatch.setattr(room.stack.container.signs._asides, "submit", late.append)
    room.stack.start()
    room.heard(room.say(LONG))
    assert late
    for notice in late:
        notice()
    room.say("and now?")
    assert room.told(2) == [ANSWER, "echo: and now?"]


def test_a_mail_is_answered_once(rooms: Rooms, wall: Wall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who does not chat waits for the answer, and not for words about it."""
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.0)
    room = rooms()
    room.stack.start()
    room.heard(room.say(LONG))
    assert room.told(1) == [ANSWER]


def test_nobody_is_told_that_while_a_person_is_asked(
    rooms: Rooms, wall: Wall, chatting: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though another call of the turn goes on meanwhile."""
    room = rooms()
    chatting()
    room.stack.start()
    asked = '[[tool clarify {"questions": [{"question": "Which one?"}]}]]'
    room.say(f'[[tool look {{"seconds": 5}}]] {asked} go')
    assert "Which one?" in room.told(1)[0]
    monkeypatch.setattr(progress, "_NOTICE_SECONDS", 0.0)
    room.say(LONG, chat="elsewhere")

    def told() -> set[str]:
        shown = [one.body for one in room.platform.shown]
        return {body["chat"] for body in shown if "still working" in body["text"]}

    until(told)
    assert told() == {"elsewhere"}


def test_a_message_gets_its_reactions(rooms: Rooms, wall: Wall, can: Can) -> None:
    room = rooms(options="reactions: true")
    can(Feature.REACTIONS)
    room.stack.start()
    room.heard(room.say("hello"))
    until(lambda: wall.reactions[-1:] == [Reaction.DONE])
    assert set(wall.reactions) <= {Reaction.WORKING, Reaction.DONE}
