"""What is told at the gateway and what was missed, in order (cases: K2, K6, K8, K82, K85)."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from habakkuk.channels.discord import client
from habakkuk.channels.discord.poller import DiscordPoller
from habakkuk.channels.messages import InboundMessage, OutboundMessage, Press, Source
from habakkuk.channels.polling import Unusable
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupted
from tests.fakes.discord_rest import Refusal
from tests.fakes.discord_rooms import BOT, BOT_ROLE, GUILD, ROOM, Room
from tests.fakes.discord_server import DiscordServer
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until
from tests.integration.channels.discord.conftest import Bot, Start

_THEN = "2026-01-01T00:00:00+00:00"


def test_what_was_written_before_the_first_start_is_not_answered(
    discord: DiscordServer, start: Start
) -> None:
    """A bot that comes into a server does not answer what people wrote there last year."""
    discord.says("long ago", ROOM, id=str(100 << 22))
    desk = start().desk
    discord.says("hello", ROOM)
    until(lambda: desk.texts == ["hello"])


def test_what_was_written_since_the_first_start_is_answered_though_nothing_was_stored(
    discord: DiscordServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What listened may have died before it stored anything, and begin again a minute later."""
    desk = Desk()
    start(desk).stop()
    discord.says("hello", ROOM)
    monkeypatch.setattr(client, "_time", lambda _headers: time.time() + 60)
    start(desk)
    until(lambda: desk.texts == ["hello"])


def test_what_comes_is_taken_in_order_and_the_bots_own_is_known(
    discord: DiscordServer, start: Start, bot: Bot
) -> None:
    desk = start().desk
    discord.says("one")
    bot().send(OutboundMessage("key1", "42", "", "two", "answer"))
    discord.says("three", author={"id": "7", "username": "other", "bot": True})
    discord.says("four", webhook_id="8")
    discord.says("joined", type=7)
    until(lambda: len(desk.texts) == 5)
    sources = [one.source for one in desk.of(InboundMessage)]
    assert sources == [Source.PERSON, Source.OWN, Source.BOT, Source.BOT, Source.AUTOMATIC]


def test_what_was_missed_is_read_in_order_and_none_of_it_twice(
    discord: DiscordServer, start: Start
) -> None:
    desk = Desk()
    first = start(desk)
    discord.says("a1")
    discord.says("b1", ROOM)
    until(lambda: len(desk.texts) == 2)
    first.stop()
    for n in range(2, 5):
        discord.says(f"a{n}")
        discord.says(f"b{n}", ROOM)
    start(desk)
    discord.says("a5")
    # Messages of the last minute are read once more, in case some came late; their ids are known.
    until(
        lambda: {f"a{n}" for n in range(1, 6)} | {f"b{n}" for n in range(1, 5)} <= set(desk.texts)
    )
    ids = {one.id: one for one in desk.of(InboundMessage)}
    later = [one.text for one in list(desk.events)[2:] if isinstance(one, InboundMessage)]
    for chat, wanted in (("42", "a"), (ROOM, "b")):
        said = [one.text for one in ids.values() if one.chat == chat]
        assert said == sorted(said)
        assert [one for one in later if one.startswith(wanted)] == sorted(
            one for one in later if one.startswith(wanted)
        )


def test_more_than_one_page_is_read(discord: DiscordServer, start: Start) -> None:
    desk = Desk()
    first = start(desk)
    discord.says("first")
    until(lambda: desk.texts == ["first"])
    first.stop()
    for n in range(230):
        discord.says(f"m{n}")
    start(desk)
    until(lambda: [one for one in desk.texts if one != "first"] == [f"m{n}" for n in range(230)])


def test_a_chat_whose_first_message_was_missed_is_read_with_its_next(
    discord: DiscordServer, start: Start
) -> None:
    """No list has a chat with one person before the bot heard of it."""
    desk = Desk()
    first = start(desk)
    discord.says("known")
    until(lambda: desk.texts == ["known"])
    first.stop()
    discord.says("missed", "55", "55")
    start(desk)
    discord.says("heard", "55", "55")
    until(lambda: desk.texts[-2:] == ["missed", "heard"])


def test_a_session_that_goes_on_is_told_what_it_missed(
    discord: DiscordServer, start: Start
) -> None:
    desk = start().desk
    discord.says("one")
    until(lambda: desk.texts == ["one"])
    discord.gateway.again = 1
    discord.gateway.drop_all()
    discord.says("two")
    until(lambda: desk.texts == ["one", "two"])
    until(lambda: discord.gateway.resumed == 1)
    discord.gateway.ask_to_reconnect()
    until(lambda: discord.gateway.resumed == 2)
    discord.says("three")
    until(lambda: desk.texts == ["one", "two", "three"])
    assert discord.gateway.identified == 1


@pytest.mark.slow
def test_a_session_that_discord_forgot_is_read_from_the_channels(
    discord: DiscordServer, start: Start
) -> None:
    """discord.py waits for five seconds before it begins another."""
    desk = start().desk
    discord.says("one")
    until(lambda: desk.texts == ["one"])
    discord.gateway.forget()
    discord.says("two", hidden=True)
    until(lambda: discord.gateway.identified == 2)
    discord.says("three")
    until(lambda: desk.texts == ["one", "two", "three"])


def test_what_is_told_again_is_taken_once(discord: DiscordServer, start: Start) -> None:
    desk = start().desk
    discord.gateway.swap()
    discord.says("a", "51", "51")
    discord.says("b", "52", "52")
    until(lambda: len(desk.texts) == 2)
    discord.gateway.repeat(2)
    discord.says("c", "51", "51")
    until(lambda: "c" in desk.texts)
    assert desk.texts == ["b", "a", "c"]


def test_what_is_not_stored_is_offered_again_before_anything_else(
    discord: DiscordServer, start: Start
) -> None:
    desk = Desk()
    running = start(desk)
    desk.refuses = 3
    discord.says("one")
    discord.says("two")
    until(lambda: desk.texts == ["one", "two"])
    desk.refuses = -1
    discord.says("three")
    until(lambda: desk.refuses < -2)
    assert isinstance(running.stop(), Interrupted)
    desk.refuses = 0
    start(desk)
    until(lambda: desk.texts[-1] == "three")


def test_a_channel_that_may_not_be_read_holds_nothing_up(
    discord: DiscordServer, start: Start
) -> None:
    desk = Desk()
    first = start(desk)
    discord.says("one", ROOM)
    until(lambda: desk.texts == ["one"])
    first.stop()
    discord.rooms["31"] = Room("31", GUILD, name="secret")
    discord.says("hidden", "31")
    discord.says("two", ROOM)
    path = "GET /channels/31/messages"
    discord.refusals[path].append(Refusal(403, "Missing Access", 50001))
    discord.refusals[f"GET /channels/{ROOM}/messages"].append(Refusal(429, "", retry_after=0.01))
    start(desk)
    until(lambda: desk.texts[-1] == "two")


def test_in_a_thread_of_the_bots_everything_is_meant_for_it(
    discord: DiscordServer, start: Start
) -> None:
    discord.rooms["61"] = Room("61", GUILD, 11, "a thread", joined=True)
    discord.rooms["62"] = Room("62", GUILD, 11, "another")
    desk = start().desk
    discord.says("in it", "61")
    discord.says("not in it", "62")
    discord.says(f"<@&{BOT_ROLE}> by its role", "62", mention_roles=[BOT_ROLE])
    member = {"id": "62", "user_id": BOT["id"], "join_timestamp": _THEN, "flags": 0}
    discord.gateway.tell(
        "THREAD_MEMBERS_UPDATE",
        {"id": "62", "guild_id": GUILD, "member_count": 1, "added_members": [member]},
    )
    discord.says("now in it", "62")
    until(lambda: len(desk.texts) == 4)
    meant = [(one.text, one.addressed) for one in desk.of(InboundMessage)]
    assert meant == [
        ("in it", True),
        ("not in it", False),
        ("by its role", True),
        ("now in it", True),
    ]


def test_a_press_is_answered_after_it_was_taken(
    discord: DiscordServer, start: Start, bot: Bot
) -> None:
    adapter, desk = bot(), Desk()
    seen: list[Any] = []

    def hears(event: object) -> None:
        if isinstance(event, Press):
            seen.append(list(discord.called("POST", r"/interactions/.*")))
            adapter.settle(event, "Allowed.")

    desk.hears = hears
    start(desk, adapter=adapter)
    adapter.send(OutboundMessage("key1", "42", "", "Which?", "question"))
    press = discord.presses(discord.shown[0], "hb|n1|0")
    until(lambda: discord.called("POST", r"/webhooks/.*"))
    (event,) = desk.of(Press)
    assert (event.id, event.data, event.message) == (press, "hb|n1|0", discord.shown[0].id)
    assert seen == [[]]
    assert len(discord.called("POST", rf"/interactions/{press}/.*")) == 1


def test_a_command_from_the_list_is_a_message_and_told_of_after_it_was_taken(
    discord: DiscordServer, start: Start
) -> None:
    desk = Desk()
    seen: list[Any] = []
    desk.hears = lambda _: seen.append(list(discord.called("POST", r"/interactions/.*")))
    start(desk)
    picked = discord.picks("effort", "high")
    until(lambda: discord.called("POST", rf"/interactions/{picked}/.*"))
    (message,) = desk.of(InboundMessage)
    assert (message.id, message.text, message.sender) == (picked, "/effort high", "42")
    assert seen == [[]]
    # The chat is read after a restart, too.
    assert desk.place is not None
    assert desk.place["direct"] == ["7"]
    (answer,) = discord.called("POST", rf"/interactions/{picked}/.*")
    assert answer["type"] == 4
    assert answer["data"]["flags"] == 64


def test_events_that_cannot_be_read_hold_nothing_up(discord: DiscordServer, start: Start) -> None:
    desk = start().desk
    discord.gateway.tell("CHANNEL_TOPIC_OF_TOMORROW", {"x": 1})
    discord.gateway.tell("MESSAGE_UPDATE", {"id": "1", "channel_id": "2"})
    discord.says("after")
    until(lambda: desk.texts == ["after"])


def test_it_ends_at_once(start: Start) -> None:
    assert isinstance(start().stop(), Interrupted)


def test_a_token_that_is_not_known_needs_a_person(discord: DiscordServer, bot: Bot) -> None:
    discord.token = "another"
    ended = Running(DiscordPoller(bot()), Desk()).end()
    assert isinstance(ended, Unusable)
    assert "reset it" in str(ended)


@pytest.mark.parametrize(
    ("code", "advice"), [(4004, "token"), (4013, "update"), (4014, "Message Content Intent")]
)
def test_a_line_that_is_closed_for_good_needs_a_person(
    discord: DiscordServer, start: Start, code: int, advice: str
) -> None:
    running = start()
    discord.gateway.close_all(code)
    ended = running.end()
    assert isinstance(ended, Unusable)
    assert advice in str(ended)


def test_without_the_right_to_read_it_says_which_switch(
    discord: DiscordServer, bot: Bot, start: Start
) -> None:
    discord.gateway.content_allowed = False
    ended = Running(DiscordPoller(bot()), Desk()).end()
    assert isinstance(ended, Unusable)
    assert "message_content: false" in str(ended)
    desk = start(adapter=bot(message_content=False)).desk
    discord.says("not for you", ROOM)
    discord.says(f"<@{BOT['id']}> for you", ROOM, mentions=[BOT])
    until(lambda: desk.texts == ["for you"])


@pytest.mark.parametrize("status", [429, 500])
def test_what_passes_by_itself_is_left_to_the_supervisor(
    discord: DiscordServer, bot: Bot, status: int
) -> None:
    discord.refusals["GET /users/@me"].append(Refusal(status, "later", retry_after=9))
    ended = Running(DiscordPoller(bot()), Desk()).end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)
    assert (ended.retryable, ended.retry_after) == (True, 9)


def test_nobody_there_is_left_to_the_supervisor(bot: Bot) -> None:
    ended = Running(DiscordPoller(bot(api_url="http://127.0.0.1:1")), Desk()).end()
    assert isinstance(ended, ChannelError)
    assert ended.retryable


def test_it_leaves_no_thread_behind(start: Start) -> None:
    start().stop()
    until(lambda: not any(one.name.startswith("keep-alive") for one in threading.enumerate()))
