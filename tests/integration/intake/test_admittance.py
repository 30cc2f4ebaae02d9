"""What is heard at an account, of whom, and how much of it."""

from __future__ import annotations

import pytest

from habakkuk.accounts.types import Role
from habakkuk.channels.contract import Allowance
from habakkuk.channels.messages import Source
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.core.ids import derive
from habakkuk.core.redis import PREFIX
from habakkuk.gateway.intake import Fate
from habakkuk.gateway.types import Cursor
from tests.fakes.stack import until
from tests.integration.intake.conftest import Room, Rooms


@pytest.mark.parametrize("source", [Source.OWN, Source.AUTOMATIC])
def test_our_own_words_and_machines_are_not_heard(rooms: Rooms, source: Source) -> None:
    room = rooms()
    assert room.say("hello", source=source).fate is Fate.IGNORED
    assert room.rows("chat_messages") == []


def test_a_program_is_heard_by_its_name_alone(rooms: Rooms) -> None:
    room = rooms(allow='"*", robot')
    assert room.say("beep", "robot", source=Source.BOT).fate is Fate.ACCEPTED
    assert room.say("beep", "another", source=Source.BOT).fate is Fate.IGNORED
    assert room.say("hello", "anybody").fate is Fate.ACCEPTED


def test_two_programs_come_to_an_end(rooms: Rooms) -> None:
    room = rooms()
    fates = [room.say("beep", "robot", source=Source.BOT).fate for _ in range(8)]
    assert fates == [Fate.ACCEPTED] * 6 + [Fate.IGNORED] * 2
    assert room.say("beep", "robot", source=Source.BOT, chat="other").fate is Fate.ACCEPTED


def test_two_programs_come_to_an_end_where_each_message_opens_a_thread(rooms: Rooms) -> None:
    """In a channel of Slack's each message is a conversation of its own (K60)."""
    room = rooms()
    fates = [
        room.say("beep", "robot", source=Source.BOT, group=True, thread=f"{number}.0").fate
        for number in range(8)
    ]
    assert fates == [Fate.ACCEPTED] * 6 + [Fate.IGNORED] * 2
    room.say("go on", group=True, thread="9.0")
    again = room.say("beep", "robot", source=Source.BOT, group=True, thread="10.0")
    assert again.fate is Fate.ACCEPTED


def test_a_program_that_changes_its_message_is_no_person(rooms: Rooms) -> None:
    """Programs that show their answer as it comes change it while the other's turn runs."""
    room = rooms()
    room.stack.start()
    received = room.say("beep [[wait 1.5]]", "robot", source=Source.BOT)
    until(lambda: room.stack.model.requests)
    room.edit(received, "beep beep", "robot")
    room.heard(received)
    fates = [room.say("beep", "robot", source=Source.BOT).fate for _ in range(6)]
    assert fates == [Fate.ACCEPTED] * 4 + [Fate.IGNORED] * 2


@pytest.mark.parametrize("what", ["a person speaks", "time goes by"])
def test_a_program_is_heard_again(rooms: Rooms, what: str) -> None:
    room = rooms()
    for _ in range(7):
        room.say("beep", "robot", source=Source.BOT)
    if what == "a person speaks":
        room.say("go on")
    else:
        room.run("UPDATE chat_messages SET created = created - interval '11 minutes'")
    assert room.say("beep", "robot", source=Source.BOT).fate is Fate.ACCEPTED


@pytest.mark.parametrize("unread", [("an embed",), ()])
def test_a_program_is_told_nothing_that_it_could_answer(
    rooms: Rooms, unread: tuple[str, ...]
) -> None:
    """What is said at once stands in no conversation, so two of them would come to no end (K60)."""
    room = rooms()
    received = room.say(" ", "robot", source=Source.BOT, unread=unread)
    assert (received.fate, received.reply) == (Fate.IGNORED, None)
    assert room.rows("deliveries") == []


def test_a_program_decides_nothing(rooms: Rooms) -> None:
    room = rooms("agent: careful")
    room.stack.start()
    received = room.say("[[tool effect {}]] go", "robot", source=Source.BOT)
    room.heard(received)
    assert "nobody can be asked" in str(room.rows("tool_calls")[0].result)
    assert room.say("/stop", "robot", source=Source.BOT).turn_id is not None


@pytest.mark.parametrize(
    ("groups", "addressed", "fate"),
    [
        ("addressed", True, Fate.ACCEPTED),
        ("addressed", False, Fate.IGNORED),
        ("all", False, Fate.ACCEPTED),
        ("none", True, Fate.IGNORED),
    ],
)
def test_what_is_heard_of_a_group(rooms: Rooms, groups: str, addressed: bool, fate: Fate) -> None:
    room = rooms(f"groups: {groups}")
    assert room.say("hello", group=True, addressed=addressed).fate is fate
    assert len(room.rows("chat_messages")) == (fate is Fate.ACCEPTED)
    assert room.say("hello").fate is Fate.ACCEPTED


def test_a_group_is_one_conversation_in_which_each_message_names_its_writer(rooms: Rooms) -> None:
    room = rooms()
    room.stack.start()
    first = room.say("one", "alice", group=True, sender_name="Alice\n[Bob] ]")
    assert room.heard(first).endswith("[Alice Bob]\none")
    second = room.say("two", "bob", group=True)
    assert room.heard(second).endswith("[bob]\ntwo")
    turns = [room.stack.turn(one.turn_id) for one in (first, second)]
    assert len({turn.session_id for turn in turns}) == 1
    assert len({turn.user_id for turn in turns}) == 2
    assert "[" not in room.heard(room.say("three", chat="other")).partition("\n")[2]


def test_in_a_group_only_who_asked_may_allow(rooms: Rooms) -> None:
    room = rooms("agent: careful")
    room.stack.start()
    room.say("[[tool effect {}]] go", "alice", group=True)
    assert "May careful run effect?" in room.told(1)[0]
    room.stack.read_questions()
    assert room.say("yes", "bob", group=True).turn_id is not None
    assert room.say("yes", "alice", group=True).reply == "Allowed once: effect."


def test_too_much_is_said_once_and_dropped(rooms: Rooms) -> None:
    room = rooms("messages_per_minute: 3")
    room.stack.start()
    message = room.message("hello")
    fates = [room.take(message).fate for _ in range(3)]
    assert fates == [Fate.ACCEPTED, Fate.DUPLICATE, Fate.DUPLICATE]
    more = [room.say(f"{number}", chat=f"{number}").fate for number in range(5)]
    assert more == [Fate.ACCEPTED] * 2 + [Fate.IGNORED] * 3
    assert room.say("hello", "bob").fate is Fate.ACCEPTED
    texts = room.told(5)
    assert [said for said in texts if "more than 3 messages" in said] == [
        said for said in texts if not said.startswith("echo: ")
    ]
    assert len(room.rows("deliveries")) == 5


def test_after_the_minute_a_sender_is_read_again(rooms: Rooms) -> None:
    room = rooms("messages_per_minute: 1")
    fates = [room.say("hello").fate for _ in range(2)]
    assert fates == [Fate.ACCEPTED, Fate.IGNORED]
    gate = room.stack.container.redis
    assert gate is not None
    (key,) = gate.call(lambda client: list(client.scan_iter("hab:1:said_*")))
    assert 0 < gate.call(lambda client: client.pttl(key)) <= 60_000
    # As the end of the minute does.
    gate.call(lambda client: client.delete(key))
    assert room.say("hello").fate is Fate.ACCEPTED


def test_without_a_limit_nothing_is_counted(rooms: Rooms) -> None:
    room = rooms("messages_per_minute: null")
    assert {room.say("hello", chat=f"{n}").fate for n in range(40)} == {Fate.ACCEPTED}


def test_what_is_dropped_moves_the_intake_on(rooms: Rooms) -> None:
    room = rooms()
    message = room.message("hello", source=Source.OWN)
    room.take(message, Cursor("offset", {"next": 7}))
    (row,) = room.rows("channel_state")
    assert (row.account, row.name, row.value) == ("chat", "offset", {"next": 7})


def test_a_route_says_who_answers(rooms: Rooms) -> None:
    routes = """
routes:
  - {account: elsewhere, agent: reader}
  - {account: chat, chat: kitchen, agent: other}
  - {sender: bob, agent: careful}
"""
    room = rooms("agent: reader", routes)
    agents = {
        "kitchen": room.say("hello", "bob", chat="kitchen"),
        "his own": room.say("hello", "bob", chat="his own"),
        "a group": room.say("hello", "bob", chat="a group", group=True),
        "hers": room.say("hello", "alice", chat="hers"),
    }
    assert {chat: room.stack.turn(one.turn_id).agent for chat, one in agents.items()} == {
        "kitchen": "other",
        "his own": "careful",
        "a group": "reader",
        "hers": "reader",
    }


def test_after_a_long_quiet_a_session_begins_anew(rooms: Rooms) -> None:
    room = rooms("session_idle: 1h")
    room.stack.start()
    first = room.say("one")
    assert room.heard(first).endswith("one")
    second = room.say("two")
    room.heard(second)
    room.run("UPDATE conversations SET updated = updated - interval '2 hours'")
    third = room.say("three")
    assert room.heard(third).endswith("three")
    sessions = [room.stack.turn(one.turn_id).session_id for one in (first, second, third)]
    assert sessions[0] == sessions[1] != sessions[2]
    texts = room.told(4)
    assert "new session" in texts[2]
    assert texts[3] == "echo: three"


def test_a_turn_that_runs_is_not_quiet(rooms: Rooms) -> None:
    room = rooms("session_idle: 1h")
    first = room.say("one")
    room.run("UPDATE conversations SET updated = updated - interval '2 hours'")
    second = room.say("two")
    turns = [room.stack.turn(one.turn_id) for one in (first, second)]
    assert turns[0].session_id == turns[1].session_id


def test_what_cannot_be_read_is_said_without_a_model(rooms: Rooms) -> None:
    room = rooms()
    room.stack.start()
    message = room.message(" ", unread=("a voice message",))
    received = [room.take(message), room.take(message)]
    assert {one.fate for one in received} == {Fate.ACCEPTED}
    assert {one.turn_id for one in received} == {None}
    (said,) = room.told(1)
    assert said == received[0].reply
    assert "a voice message" in said
    assert len(room.rows("deliveries")) == 1


def test_beside_a_text_the_model_is_told_what_it_cannot_see(rooms: Rooms) -> None:
    room = rooms()
    room.stack.start()
    received = room.say("look at this", unread=("a sticker",))
    assert "a sticker, which you cannot see" in room.heard(received)


def test_people_are_told_in_their_chat_what_is_refused(rooms: Rooms) -> None:
    room = rooms(more="gateway: {max_message_bytes: 1000}")
    room.stack.start()
    received = room.take(room.message("x" * 1001), Cursor("offset", {"next": 7}))
    assert received.fate is Fate.IGNORED
    assert "at most 1,000" in room.told(1)[0]
    assert len(room.rows("channel_state")) == 1


def test_who_may_only_read_does_not_write(rooms: Rooms) -> None:
    room = rooms()
    room.say("hello")
    accounts = room.stack.container.accounts
    person = accounts.known("webhook", "chat", "alice")
    assert person is not None
    accounts.set_role(person.name, Role.VIEWER)
    received = room.say("hello")
    assert (received.fate, received.turn_id) == (Fate.IGNORED, None)
    assert "may read" in str(received.reply)


def test_what_is_too_much_for_longer_is_said_with_its_time(
    rooms: Rooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    hourly = [Allowance(2, 3600, "hour"), Allowance(100, 86_400, "day")]
    monkeypatch.setattr(WebhookAdapter, "allowances", hourly)
    room = rooms("messages_per_minute: 1")
    room.stack.start()
    assert [room.say("hello").fate for _ in range(2)] == [Fate.ACCEPTED, Fate.IGNORED]
    gate = room.stack.container.redis
    assert gate is not None
    # The minute is over. What was too much in it does not count in the hour.
    minute = PREFIX + derive("said", "chat", "alice", "minute")
    for fate in [Fate.ACCEPTED, Fate.IGNORED]:
        gate.call(lambda client: client.delete(minute))
        assert room.say("hello").fate is fate
    assert sum("more than 2 messages in one hour" in said for said in room.told(4)) == 1


def test_a_limit_is_open_when_redis_is_away(rooms: Rooms) -> None:
    room = rooms("messages_per_minute: 1")
    _without_redis(room)
    assert [room.say("hello").fate for _ in range(3)] == [Fate.ACCEPTED] * 3


def _without_redis(room: Room) -> None:
    gate = room.stack.container.redis
    assert gate is not None
    gate._open_until = float("inf")
