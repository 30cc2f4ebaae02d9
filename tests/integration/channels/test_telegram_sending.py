"""Messages to Telegram by the real SDK, and what becomes of each (cases: K44, K45; row 35)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.channels.messages import Button, OutboundMessage, Press
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.core.errors import ChannelError
from tests.fakes.platform import DROP_AFTER, refuse
from tests.fakes.telegram_server import TOKEN, Refusal, TelegramServer

Bot = Callable[..., TelegramAdapter]
_MESSAGE = OutboundMessage("key1", "42", "", "hello", "answer", reply_to="42:7")
_PRESS = Press("query1", "42", "42", "hb|n1|0", "42:71")


def test_formatting_goes_as_entities(telegram: TelegramServer, bot: Bot) -> None:
    bot().send(replace(_MESSAGE, text="😀 **bold** and [here](https://e.example)"))
    (shown,) = telegram.shown
    assert shown.text == "😀 bold and here"
    assert [(one["type"], shown.marked(one)) for one in shown.entities] == [
        ("bold", "bold"),
        ("text_link", "here"),
    ]


@pytest.mark.parametrize(
    "words", ["can't parse entities: wrong offset", "ENTITIES_TOO_LONG", "ENTITY_BOUNDS_INVALID"]
)
def test_formatting_that_is_refused_is_left_out(
    telegram: TelegramServer, bot: Bot, words: str
) -> None:
    telegram.refusals["sendMessage"].append(Refusal(400, f"Bad Request: {words}"))
    bot().send(replace(_MESSAGE, text="**bold** 1"))
    (shown,) = telegram.shown
    assert (shown.text, shown.entities) == ("**bold** 1", ())


def test_a_text_without_formatting_is_refused_for_good(telegram: TelegramServer, bot: Bot) -> None:
    telegram.refusals["sendMessage"].append(Refusal(400, "Bad Request: can't parse entities"))
    with pytest.raises(NotSent) as caught:
        bot().send(_MESSAGE)
    assert not caught.value.retryable
    assert telegram.shown == []


def test_an_answer_stands_under_what_asked(telegram: TelegramServer, bot: Bot) -> None:
    for part in (1, 2):
        bot().send(replace(_MESSAGE, thread="31", part=part, parts=2))
    first, second = telegram.shown
    assert first.asked["reply_parameters"]["message_id"] == 7
    assert "reply_parameters" not in second.asked
    assert [one.asked["message_thread_id"] for one in telegram.shown] == ["31", "31"]


def test_links_are_not_opened_for_a_look(telegram: TelegramServer, bot: Bot) -> None:
    bot().send(_MESSAGE)
    bot(link_previews=True).send(_MESSAGE)
    looks = [one.asked["link_preview_options"]["is_disabled"] for one in telegram.shown]
    assert looks == [True, False]


@pytest.mark.parametrize(
    ("labels", "rows"), [(["Yes", "No"], 1), (["A rather long choice", "Another long choice"], 2)]
)
def test_buttons_stand_below_the_last_part(
    telegram: TelegramServer, bot: Bot, labels: list[str], rows: int
) -> None:
    buttons = tuple(Button(label, f"hb|{n}") for n, label in enumerate(labels))
    for part in (1, 2):
        bot().send(replace(_MESSAGE, buttons=buttons, part=part, parts=2))
    first, second = telegram.shown
    assert "reply_markup" not in first.asked
    keyboard = second.asked["reply_markup"]["inline_keyboard"]
    assert len(keyboard) == rows
    pressed = [(one["text"], one["callback_data"]) for row in keyboard for one in row]
    assert pressed == [(button.label, button.data) for button in buttons]


def test_what_is_sent_has_an_id_that_it_is_found_by(telegram: TelegramServer, bot: Bot) -> None:
    assert bot().send(_MESSAGE).id == f"42:{telegram.shown[0].id}"


def test_a_wait_is_taken_over(telegram: TelegramServer, bot: Bot) -> None:
    telegram.plans.append(refuse(429, retry_after="33"))
    with pytest.raises(NotSent, match="left alone") as caught:
        bot().send(_MESSAGE)
    assert (caught.value.retryable, caught.value.retry_after) == (True, 33)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (403, "Forbidden: bot was blocked by the user"),
        (400, "Bad Request: chat not found"),
        (400, "Bad Request: message thread not found"),
    ],
)
def test_a_chat_that_is_closed_is_not_asked_again(
    telegram: TelegramServer, bot: Bot, status: int, words: str
) -> None:
    telegram.refusals["sendMessage"].append(Refusal(status, words))
    with pytest.raises(NotSent, match=words) as caught:
        bot().send(_MESSAGE)
    assert not caught.value.retryable


def test_a_group_that_moved_is_followed(telegram: TelegramServer, bot: Bot) -> None:
    telegram.moved["-5"] = -1005
    sent = bot().send(replace(_MESSAGE, chat="-5", thread="3", reply_to="-5:7"))
    (shown,) = telegram.shown
    assert (shown.chat, sent.id) == ("-1005", f"-1005:{shown.id}")
    # The numbers of the old group mean other messages in the new one.
    assert "reply_parameters" not in shown.asked
    assert "message_thread_id" not in shown.asked


def test_a_line_that_breaks_in_a_send_leaves_it_unknown(telegram: TelegramServer, bot: Bot) -> None:
    telegram.plans.append(DROP_AFTER)
    with pytest.raises(OutcomeUnknown):
        bot().send(_MESSAGE)
    assert len(telegram.shown) == 1


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"<html>", b'{"ok": true}'])
def test_an_answer_of_something_else_leaves_it_unknown(
    telegram: TelegramServer, bot: Bot, body: bytes
) -> None:
    telegram.bodies.append(body)
    with pytest.raises(OutcomeUnknown):
        bot().send(_MESSAGE)


def test_a_result_of_another_shape_leaves_it_unknown(telegram: TelegramServer, bot: Bot) -> None:
    telegram.bodies.append(b'{"ok": true, "result": {"surprise": 1}}')
    with pytest.raises(OutcomeUnknown):
        bot().send(_MESSAGE)


def test_one_connection_serves_many_sends(telegram: TelegramServer, bot: Bot) -> None:
    adapter = bot()
    for _ in range(5):
        adapter.send(_MESSAGE)
    assert telegram.connections == 1


def test_typing_is_shown_where_the_answer_goes(telegram: TelegramServer, bot: Bot) -> None:
    bot().typing("42", "31")
    (asked,) = telegram.called("sendChatAction")
    assert asked == {"chat_id": "42", "message_thread_id": "31", "action": "typing"}


def test_a_press_is_answered_and_its_buttons_go(telegram: TelegramServer, bot: Bot) -> None:
    bot().settle(_PRESS, "Allowed.")
    (answered,) = telegram.called("answerCallbackQuery")
    assert {"callback_query_id": "query1", "text": "Allowed."}.items() <= answered.items()
    (edited,) = telegram.called("editMessageReplyMarkup")
    assert edited == {"chat_id": "42", "message_id": "71"}


def test_a_press_of_somebody_else_is_answered_to_them(telegram: TelegramServer, bot: Bot) -> None:
    bot().decline(_PRESS, "This is not yours to decide.")
    (answered,) = telegram.called("answerCallbackQuery")
    assert (answered["text"], answered["show_alert"]) == ("This is not yours to decide.", "true")
    assert telegram.called("editMessageReplyMarkup") == []


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("answerCallbackQuery", "Bad Request: query is too old and response timeout expired"),
        ("editMessageReplyMarkup", "Bad Request: message is not modified"),
        ("editMessageReplyMarkup", "Bad Request: message to edit not found"),
    ],
)
def test_what_is_settled_already_is_settled(
    telegram: TelegramServer, bot: Bot, method: str, words: str
) -> None:
    telegram.refusals[method].append(Refusal(400, words))
    bot().settle(_PRESS, "Allowed.")
    assert len(telegram.called("editMessageReplyMarkup")) == 1


def test_it_says_who_it_is(bot: Bot) -> None:
    assert bot().check() == "@hab_bot"


def _send(adapter: TelegramAdapter) -> object:
    return adapter.send(_MESSAGE)


def _type(adapter: TelegramAdapter) -> None:
    adapter.typing("42", "")


@pytest.mark.parametrize("act", [_send, _type, TelegramAdapter.check])
@pytest.mark.parametrize("fault", ["unknown token", "dropped", "nobody there"])
def test_the_token_stands_in_no_error_and_no_log(
    telegram: TelegramServer,
    bot: Bot,
    caplog: pytest.LogCaptureFixture,
    act: Callable[[TelegramAdapter], Any],
    fault: str,
) -> None:
    caplog.set_level(logging.WARNING)
    more = {"api_url": "http://127.0.0.1:1"} if fault == "nobody there" else {}
    if fault == "unknown token":
        telegram.token = "another"
    if fault == "dropped":
        telegram.bodies.append(None)
    with pytest.raises(ChannelError) as caught:
        act(bot(**more))
    chain: list[BaseException] = [caught.value]
    while (cause := chain[-1].__cause__) is not None:
        chain.append(cause)
    told = [f"{error!r} {error}" for error in chain] + [caplog.text]
    assert not any(TOKEN in text for text in told)
