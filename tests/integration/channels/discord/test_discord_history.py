"""Histories that are not given out when a session begins: for good, or for now (cases: K6, K8)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from habakkuk.channels.discord import poller
from habakkuk.core.errors import ChannelError
from tests.fakes.discord_rest import Refusal
from tests.fakes.discord_rooms import GUILD, ROOM, Room
from tests.fakes.discord_server import DiscordServer
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until

Start = Callable[..., Running]


def _away(discord: DiscordServer, start: Start) -> Desk:
    """Listen, and be away while something is written."""
    desk = Desk()
    first = start(desk)
    discord.says("one", ROOM)
    until(lambda: desk.texts == ["one"])
    first.stop()
    discord.rooms["31"] = Room("31", GUILD, 77, name="of a kind that is new")
    discord.says("hidden", "31")
    discord.says("two", ROOM)
    return desk


def test_a_channel_that_discord_reads_out_to_nobody_holds_nothing_up(
    discord: DiscordServer, start: Start
) -> None:
    desk = _away(discord, start)
    refused = Refusal(400, "Cannot execute action on this channel type", 50024)
    discord.refusals["GET /channels/31/messages"] += [refused] * 9
    start(desk)
    discord.says("three", ROOM)
    until(lambda: desk.texts[-1] == "three", 20)
    assert "two" in desk.texts
    assert "hidden" not in desk.texts


def test_what_stands_before_discord_closes_no_channel(
    discord: DiscordServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its 403 has no code of Discord's: taken for Discord's word, what was written is lost."""
    monkeypatch.setattr(poller, "_RETRY_SECONDS", 0.01)
    desk = _away(discord, start)
    path = f"GET /channels/{ROOM}/messages"
    discord.refusals[path] += [Refusal(403, "error code: 1020")] * 2
    running = start(desk)
    until(lambda: "two" in desk.texts, 9)
    running.stop()
    discord.says("three", ROOM)
    discord.refusals[path] += [Refusal(403, "error code: 1020")] * 5
    failed = start(desk)
    assert isinstance(failed.end(), ChannelError)
    start(desk)
    until(lambda: "three" in desk.texts, 9)
