"""Answers whose question is gone, or may not be read: seen once all the same (cases: K2, K11)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from habakkuk.channels.contract import NotSent
from habakkuk.channels.discord.adapter import DiscordAdapter
from habakkuk.channels.messages import OutboundMessage
from tests.fakes.discord_rest import Refusal
from tests.fakes.discord_server import DiscordServer

Bot = Callable[..., DiscordAdapter]
# Ids of Discord's first moments: older than it remembers keys.
_QUESTION, _SENT, _LATER = (str(n << 22) for n in (1, 2, 3))
_ANSWER = OutboundMessage("key1", "42", "", "hello", "answer", reply_to=_QUESTION)
_POST = "POST /channels/42/messages"


def _age(discord: DiscordServer, number: str) -> None:
    discord.rooms["42"].messages[-1]["id"] = number


def test_an_answer_whose_question_is_gone_is_found_again(discord: DiscordServer, bot: Bot) -> None:
    """A slash command's id is never one of a message, and a question may have been deleted."""
    bot().send(_ANSWER)
    assert "message_reference" not in discord.rooms["42"].messages[-1]
    _age(discord, _SENT)
    found = bot().find(_ANSWER)
    assert found is not None
    assert found.id == _SENT


def test_the_same_words_beside_a_question_that_is_there_are_another_message(
    discord: DiscordServer, bot: Bot
) -> None:
    discord.says("a question", id=_QUESTION)
    bot().send(replace(_ANSWER, reply_to=None))
    _age(discord, _SENT)
    assert bot().find(_ANSWER) is None
    bot().send(replace(_ANSWER, key="key2"))
    _age(discord, _LATER)
    found = bot().find(_ANSWER)
    assert found is not None
    assert found.id == _LATER


def test_a_question_that_cannot_be_asked_for_is_no_proof(discord: DiscordServer, bot: Bot) -> None:
    bot().send(_ANSWER)
    _age(discord, _SENT)
    discord.refusals[f"GET /channels/42/messages/{_QUESTION}"].append(Refusal(500, "x"))
    with pytest.raises(NotSent) as raised:
        bot().find(_ANSWER)
    assert raised.value.retryable


def test_where_nothing_may_be_read_an_answer_stands_alone(discord: DiscordServer, bot: Bot) -> None:
    """Without Read Message History a bot may post and not reply."""
    refused = Refusal(403, "Cannot reply without permission to read message history", 160002)
    discord.refusals[_POST].append(refused)
    assert bot().send(_ANSWER).id is not None
    discord.refusals[_POST].append(refused)
    bot().draft("42", "", _QUESTION, "at work")
    assert [one.text for one in discord.shown] == ["hello", "at work"]
    assert all("message_reference" not in one.asked for one in discord.shown)
