"""Answers whose topic was deleted while they were made (case K2)."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest

from habakkuk.channels.contract import NotSent
from habakkuk.channels.messages import OutboundFile, OutboundMessage
from habakkuk.channels.telegram.adapter import TelegramAdapter
from tests.fakes.telegram_server import Refusal, TelegramServer

Bot = Callable[..., TelegramAdapter]
_ANSWER = OutboundMessage("key1", "-1005", "31", "**hello**", "answer", reply_to="-1005:7")


@pytest.mark.parametrize("words", ["message thread not found", "TOPIC_DELETED"])
def test_an_answer_to_a_topic_that_is_gone_stands_in_its_chat(
    telegram: TelegramServer, bot: Bot, words: str
) -> None:
    telegram.refusals["sendMessage"].append(Refusal(400, f"Bad Request: {words}"))
    bot().send(_ANSWER)
    (shown,) = telegram.shown
    assert (shown.chat, shown.text) == ("-1005", "hello")
    assert "message_thread_id" not in shown.asked


def test_a_picture_is_taken_in_its_last_form(telegram: TelegramServer, bot: Bot) -> None:
    """Each refusal is of something else: only then is there nothing left to leave out."""
    gone = Refusal(400, "Bad Request: message thread not found")
    telegram.refusals["sendPhoto"] += [gone, Refusal(400, "Bad Request: can't parse entities")]
    file = OutboundFile("a.png", "image/png", 7, lambda: io.BytesIO(b"no file"))
    bot().send(replace(_ANSWER, file=file))
    (shown,) = telegram.shown
    assert (shown.method, shown.text) == ("sendDocument", "**hello**")
    assert shown.asked["document"].data == b"no file"


def test_into_a_topic_that_was_closed_nothing_is_written(
    telegram: TelegramServer, bot: Bot
) -> None:
    telegram.refusals["sendMessage"].append(Refusal(400, "Bad Request: TOPIC_CLOSED"))
    with pytest.raises(NotSent, match="TOPIC_CLOSED") as caught:
        bot().send(_ANSWER)
    assert not caught.value.retryable
    assert telegram.shown == []
