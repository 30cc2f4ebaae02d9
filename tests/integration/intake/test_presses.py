"""Buttons below approvals and questions: shown on the last part, decided once by who may."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from habakkuk.channels.messages import Button
from habakkuk.gateway.intake import Fate
from tests.fakes.stack import until
from tests.integration.intake.conftest import Room, Rooms

_EFFECT = "[[tool effect {}]] go"
_ASKED = {"question": "Which colour?", "choices": ["red", "green"]}
_CLARIFY = f"[[tool clarify {json.dumps({'questions': [_ASKED]})}]] paint"


@pytest.fixture
def room(rooms: Rooms) -> Room:
    made = rooms("agent: careful")
    made.stack.start()
    return made


def test_an_approval_is_allowed_by_a_button(room: Room) -> None:
    received = room.say(_EFFECT)
    shown = room.buttons()
    assert list(shown) == ["Allow once", "Allow for the session", "Deny"]
    assert all(len(button.data.encode()) <= 64 for button in shown.values())
    pressed = room.press(shown["Allow once"])
    assert (pressed.fate, pressed.reply) == (Fate.ACCEPTED, "Allowed once: effect.")
    assert room.settled[0][1] == "Allowed once: effect."
    room.heard(received)
    assert len(room.stack.trace("effects.log", "careful")) == 1


def test_an_approval_is_denied_by_a_button(room: Room) -> None:
    received = room.say(_EFFECT)
    room.press(room.buttons()["Deny"])
    room.heard(received)
    assert room.stack.trace("effects.log", "careful") == []


def test_an_approval_for_the_session_covers_the_next(room: Room) -> None:
    received = room.say(_EFFECT)
    room.press(room.buttons()["Allow for the session"])
    room.heard(received)
    room.heard(room.say(_EFFECT))
    assert len(room.stack.trace("effects.log", "careful")) == 2


def test_what_may_differ_each_time_is_not_offered_for_the_session(room: Room) -> None:
    room.say('[[tool exec {"command": "rm -r build && make"}]] go')
    shown = room.buttons()
    assert list(shown) == ["Allow once", "Deny"]
    forged = replace(shown["Deny"], data=shown["Deny"].data[:-1] + "1")
    assert room.press(forged).fate is Fate.IGNORED
    assert "allow it once" in room.settled[0][1]
    assert room.press(shown["Deny"], press="p2").reply == "Not allowed: exec."


def test_a_press_that_comes_again_decides_nothing_new(room: Room) -> None:
    room.say(_EFFECT)
    button = room.buttons()["Allow once"]
    first, again = room.press(button), room.press(button)
    assert (first.fate, first.reply) == (again.fate, again.reply)
    assert [said for _, said in room.settled] == ["Allowed once: effect."] * 2
    another = room.press(room.buttons()["Deny"], press="p2")
    assert another.fate is Fate.IGNORED
    assert "expired" in str(another.reply)


def test_of_many_presses_at_once_one_decides(room: Room) -> None:
    room.say(_EFFECT)
    pressed = [*room.buttons().values()] * 2
    with ThreadPoolExecutor(6) as fingers:
        found = list(fingers.map(lambda n: room.press(pressed[n], press=f"p{n}"), range(6)))
    decided = [one.reply for one in found if one.fate is Fate.ACCEPTED]
    assert len(decided) == 1
    assert {"expired" in str(one.reply) for one in found if one.reply not in decided} == {True}


def test_a_button_of_somebody_else_stays(room: Room) -> None:
    room.say(_EFFECT)
    button = room.buttons()["Allow once"]
    assert room.press(button, "bob").reply == "This is not yours to decide."
    assert [said for _, said in room.declined] == ["This is not yours to decide."]
    assert room.settled == []
    assert room.press(button, press="p2").fate is Fate.ACCEPTED


def test_a_stranger_presses_nothing(room: Room) -> None:
    room.say(_EFFECT)
    assert room.press(room.buttons()["Allow once"], "carol").fate is Fate.IGNORED
    assert room.settled == room.declined == []


@pytest.mark.parametrize("data", ["", "k|", f"k|{'0' * 32}|0", "other|1", f"k|{'0' * 32}|999"])
def test_a_button_of_nothing_has_expired(room: Room, data: str) -> None:
    received = room.press(Button("Allow", data))
    assert received.fate is Fate.IGNORED
    assert "expired" in room.settled[0][1]


def test_a_choice_is_answered_by_its_button(room: Room) -> None:
    received = room.say(_CLARIFY)
    shown = room.buttons()
    assert list(shown) == ["A. red", "B. green"]
    assert room.press(shown["B. green"]).reply == "Answered: green"
    assert room.press(shown["B. green"]).fate is Fate.ACCEPTED
    assert "expired" in str(room.press(shown["A. red"], press="p2").reply)
    until(lambda: room.stack.turn(received.turn_id).ended is not None)
    assert "The user answered: green" in room.told(2)[-1]


def test_a_button_s_answer_is_told_to_the_hooks_once(rooms: Rooms) -> None:
    """As one that is typed: they hear of all words for an agent, whichever way they came."""
    room = rooms(more='hooks: [{event: message_in, command: "cat >> heard"}]')
    room.stack.start()
    received = room.say(_CLARIFY)
    green = room.buttons()["B. green"]
    room.press(green)
    room.press(green)
    room.say("the last", chat="other")
    heard = room.stack.home / "heard"
    until(lambda: heard.exists() and len(heard.read_text().splitlines()) >= 3)
    told = [json.loads(line) for line in heard.read_text().splitlines()]
    assert [one["turn"] for one in told if one["text"] == "green"] == [received.turn_id]


def test_several_questions_have_no_buttons(room: Room) -> None:
    room.say(f"[[tool clarify {json.dumps({'questions': [_ASKED, _ASKED]})}]] paint")
    room.told(1)
    assert not any(message.buttons for message in room.sent)


def test_buttons_stand_below_the_last_part_alone(rooms: Rooms) -> None:
    room = rooms("agent: careful, max_characters: 100")
    room.stack.start()
    room.say(_EFFECT)
    room.buttons()
    assert len(room.sent) > 1
    assert [bool(message.buttons) for message in room.sent] == [
        message.part == message.parts for message in room.sent
    ]


def test_an_answer_can_be_typed_still(room: Room) -> None:
    room.say(_EFFECT)
    shown = room.buttons()
    room.stack.read_questions()
    assert room.say("yes").reply == "Allowed once: effect."
    assert "expired" in str(room.press(shown["Deny"]).reply)
