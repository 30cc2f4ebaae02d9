"""Edits and deletions at Discord, told at once or looked for later (case K8)."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from habakkuk.channels.messages import Edit, Removal
from tests.fakes.discord_rooms import BOT, ROOM
from tests.fakes.discord_server import DiscordServer
from tests.fakes.listening import Desk
from tests.fakes.stack import until
from tests.integration.channels.discord.conftest import Start


def test_edits_and_deletions_are_told(discord: DiscordServer, start: Start) -> None:
    desk = start().desk
    said = discord.says("helo")
    discord.edits("42", said, "hello")
    # Discord looks at a link, which changes the message and not its text.
    room = discord.room("42")
    seen = room.messages[0] | {"edited_timestamp": None, "embeds": [{"type": "link"}]}
    discord.gateway.tell("MESSAGE_UPDATE", seen)
    discord.deletes("42", said)
    until(lambda: desk.of(Removal))
    assert [(one.id, one.text) for one in desk.of(Edit)] == [(said, "hello")]
    assert [(one.id, one.chat, one.sender) for one in desk.of(Removal)] == [(said, "42", "42")]


@pytest.mark.parametrize("chat", ["42", ROOM])
def test_what_was_changed_while_nobody_listened_is_told(
    discord: DiscordServer, start: Start, chat: str
) -> None:
    desk = Desk()
    first = start(desk)
    said = discord.says("helo", chat)
    other = discord.says("untouched", chat)
    until(lambda: len(desk.texts) == 2)
    first.stop()
    discord.edits(chat, said, "hello", hidden=True)
    discord.says("missed", chat)
    start(desk)
    until(lambda: "missed" in desk.texts)
    until(lambda: desk.of(Edit))
    assert [(one.id, one.text) for one in desk.of(Edit)] == [(said, "hello")]
    assert other not in {one.id for one in desk.of(Edit)}


def _earlier(discord: DiscordServer, seconds: float) -> str:
    """Return the id of a message that was written so long ago."""
    return str(int(discord.number()) - (int(seconds * 1000) << 22))


def _stood(discord: DiscordServer, seconds: float, chat: str) -> Desk:
    """Return the desk of a bot that has listened for days and was told of a message then."""
    desk = Desk()
    newest, first = _earlier(discord, seconds), _earlier(discord, 86_400 * 9)
    desk.place = {"bot": BOT["id"], "first": first, "newest": newest, "direct": [chat]}
    return desk


def test_what_was_changed_is_looked_for_an_hour_back_and_not_told_as_new(
    discord: DiscordServer, start: Start
) -> None:
    desk = _stood(discord, 600, "42")
    for minutes in (100, 60):
        sent = discord.says(f"{minutes} ago", id=_earlier(discord, 60.0 * minutes), hidden=True)
        discord.edits("42", sent, f"changed after {minutes}", hidden=True)
    discord.says("missed", hidden=True)
    start(desk)
    until(lambda: desk.texts == ["missed"])
    assert [one.text for one in desk.of(Edit)] == ["changed after 60"]


def test_what_was_changed_while_somebody_listened_is_not_told_again(
    discord: DiscordServer, start: Start
) -> None:
    """Its text may read differently by now, as when somebody whom it mentions has a new name."""
    desk = _stood(discord, 600, "42")
    then = datetime.fromtimestamp(time.time() - 1200, UTC).isoformat()
    known = _earlier(discord, 1800)
    discord.says("changed then", id=known, edited_timestamp=then, hidden=True)
    discord.says("missed", hidden=True)
    start(desk)
    until(lambda: desk.texts == ["missed"])
    assert desk.of(Edit) == []


def test_of_a_busy_channel_no_more_than_a_page_is_looked_through_for_changes(
    discord: DiscordServer, start: Start
) -> None:
    desk = _stood(discord, 600, "42")
    for n in range(250):
        discord.says(f"known {n}", ROOM, id=_earlier(discord, 1800 - n), hidden=True)
    discord.says("missed", ROOM, hidden=True)
    start(desk)
    until(lambda: desk.texts == ["missed"])
    assert len(discord.called("GET", f"/channels/{ROOM}/messages")) == 2
