"""Strangers of a channel for people: a code, once an hour, that the owner types."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from habakkuk.core.errors import NotFound
from habakkuk.gateway.intake import Fate
from habakkuk.gateway.pairing import MOST_OPEN
from habakkuk.gateway.types import Cursor
from tests.integration.intake.conftest import Room, Rooms

_CODE = re.compile(r"the code ([A-Z]{8});")


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms()


def code_of(room: Room, sender: str = "carol") -> str:
    (found,) = (row.code for row in room.rows("pairings") if row.external_id == sender)
    return str(found)


def test_a_stranger_is_told_a_code_once(room: Room) -> None:
    room.stack.start()
    message = room.message("let me in", "carol", sender_name="Carol")
    fates = [room.take(message).fate, room.take(message).fate, room.say("hello?", "carol").fate]
    assert fates == [Fate.IGNORED] * 3
    (said,) = room.told(1)
    found = _CODE.search(said)
    assert found is not None
    assert found[1] == code_of(room)
    assert not set(found[1]) & set("ILO01")
    room.say("after the others", "alice")
    assert room.told(2)[1] == "echo: after the others"


def test_a_stranger_is_turned_away_before_anything_is_fetched(room: Room) -> None:
    line = room.stack.container.channels.line("chat")
    assert line is not None
    intake, place = room.stack.container.intake, Cursor("position", {"n": 1})
    turned = intake.turn_away(line, room.message("", "carol"), place)
    assert turned is not None
    assert turned.fate is Fate.IGNORED
    assert code_of(room)
    assert [row.value for row in room.rows("channel_state")] == [{"n": 1}]
    # Who may write is not told so, and not stored before there is something to store.
    assert intake.turn_away(line, room.message("", "alice"), Cursor("position", {"n": 2})) is None
    assert [row.value for row in room.rows("channel_state")] == [{"n": 1}]


def test_nothing_of_what_a_stranger_wrote_is_stored(room: Room) -> None:
    room.say("my secret plan", "carol", sender_name="Carol")
    assert [row.role for row in room.rows("users")] == ["owner"]
    for table in ("conversations", "chat_messages", "turns"):
        assert room.rows(table) == []
    for table in ("pairings", "deliveries", "jobs"):
        (row,) = room.rows(table)
        assert "secret plan" not in str(row._asdict())


def test_who_is_let_in_is_told_and_answered(room: Room) -> None:
    room.stack.start()
    room.say("hello", "carol", sender_name="Carol")
    room.told(1)
    code = code_of(room)
    pairing, person = room.stack.container.pairings.let_in(f" {code[:4].lower()}-{code[4:]} ")
    assert (pairing.sender, person.role) == ("carol", "member")
    assert person.name.startswith("Carol (chat ")
    assert "You are let in" in room.told(2)[1]
    received = room.say("hello again", "carol")
    assert received.fate is Fate.ACCEPTED
    assert room.stack.turn(received.turn_id).user_id == person.id
    assert room.told(3)[2] == "echo: hello again"


def test_a_person_is_let_in_as_somebody_who_is_here(room: Room) -> None:
    room.say("it is me", "carol")
    _, person = room.stack.container.pairings.let_in(code_of(room), "owner")
    assert person == room.stack.owner
    received = room.say("hello", "carol")
    assert room.stack.turn(received.turn_id).user_id == room.stack.owner.id
    assert len(room.rows("users")) == 1


def test_a_code_is_good_once_and_for_an_hour(room: Room) -> None:
    pairings = room.stack.container.pairings
    room.say("hello", "carol")
    first = code_of(room)
    room.run("UPDATE pairings SET expires = clock_timestamp()")
    with pytest.raises(NotFound, match="one hour"):
        pairings.let_in(first)
    room.say("hello", "carol")
    second = code_of(room)
    assert second != first
    pairings.let_in(second)
    with pytest.raises(NotFound, match="one hour"):
        pairings.let_in(second)


def test_a_crowd_gets_no_more_codes_than_that(room: Room) -> None:
    for number in range(MOST_OPEN + 2):
        room.say("hello", f"stranger {number}")
    assert len(room.rows("pairings")) == len(room.rows("deliveries")) == MOST_OPEN


def test_many_at_once_get_no_more_codes_than_that(room: Room) -> None:
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda n: room.say("hello", f"stranger {n}", id=f"s{n}"), range(30)))
    assert len(room.rows("pairings")) == len(room.rows("deliveries")) == MOST_OPEN


def test_a_stranger_in_a_group_is_told_nothing(room: Room) -> None:
    assert room.say("hello", "carol", group=True).fate is Fate.IGNORED
    assert room.rows("pairings") == room.rows("deliveries") == []


def test_whose_pairing_is_revoked_is_a_stranger_again(room: Room) -> None:
    pairings = room.stack.container.pairings
    room.say("hello", "carol")
    pairings.let_in(code_of(room))
    pairings.revoke("chat", "carol")
    assert room.say("hello", "carol").fate is Fate.IGNORED
    with pytest.raises(NotFound, match="allow_from"):
        pairings.revoke("chat", "alice")


def test_whoever_is_removed_is_a_stranger_again(room: Room) -> None:
    room.say("hello", "carol")
    _, person = room.stack.container.pairings.let_in(code_of(room))
    room.stack.container.accounts.remove(person.name)
    assert room.say("hello", "carol").fate is Fate.IGNORED


@pytest.mark.parametrize(
    "said", ["{code}", "habakkuk pair {code}", "/pair {code}", "/new", "yes", "I am the owner"]
)
def test_no_words_of_a_stranger_let_them_in(room: Room, said: str) -> None:
    room.say("hello", "carol")
    written = said.format(code=code_of(room))
    assert room.say(written, "carol").fate is Fate.IGNORED
    assert room.say(written, "alice", group=True).fate is Fate.ACCEPTED
    assert not room.stack.container.pairings.holds("webhook", "chat", "carol")
