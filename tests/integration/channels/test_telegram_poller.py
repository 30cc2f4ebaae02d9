"""What is written to a bot, fetched in order and none of it twice (cases: K1, K6, K82)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from habakkuk.channels.polling import Unusable
from habakkuk.channels.telegram.adapter import TelegramAdapter
from habakkuk.channels.telegram.poller import TelegramPoller
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupted
from tests.fakes.listening import Desk, Running
from tests.fakes.stack import until
from tests.fakes.telegram_server import BOT, Refusal, TelegramServer

Bot = Callable[..., TelegramAdapter]
_SENDER = {"id": 42, "is_bot": False, "first_name": "Alice"}
_CHAT = {"id": 42, "type": "private"}


def _said(text: str, number: int) -> dict[str, Any]:
    return {"message_id": number, "date": 1, "chat": _CHAT, "from": _SENDER, "text": text}


Start = Callable[..., Running]


@pytest.fixture
def start(bot: Bot) -> Iterator[Start]:
    started: list[Running] = []

    def make(desk: Desk | None = None, **settings: float) -> Running:
        made = Running(TelegramPoller(bot()), desk or Desk(), **settings)
        started.append(made)
        return made

    yield make
    for one in started:
        one.stop()


def test_what_was_written_before_the_start_is_taken_in_order(
    telegram: TelegramServer, start: Start
) -> None:
    for n in range(6):
        telegram.happens(message=_said(f"m{n}", n))
    running = start()
    until(lambda: running.desk.texts == [f"m{n}" for n in range(6)])
    assert all(
        asked.get("drop_pending_updates") != "true" for asked in telegram.called("deleteWebhook")
    )


def test_what_comes_later_comes_at_once(telegram: TelegramServer, start: Start) -> None:
    running = start()
    telegram.wait(lambda: telegram.called("getUpdates"))
    telegram.happens(message=_said("hello", 1))
    until(lambda: running.desk.texts == ["hello"])
    telegram.happens(message=_said("again", 2))
    until(lambda: running.desk.texts == ["hello", "again"])
    assert running.desk.beats >= 2


def test_it_goes_on_where_the_last_one_was_stored(telegram: TelegramServer, start: Start) -> None:
    desk = Desk()
    first = start(desk)
    telegram.happens(message=_said("one", 1))
    until(lambda: desk.texts == ["one"])
    first.stop()
    telegram.happens(message=_said("two", 2))
    second = start(desk)
    until(lambda: desk.texts == ["one", "two"])
    second.stop()
    assert desk.place is not None
    assert desk.place["bot"] == BOT["id"]


def test_what_is_not_stored_is_not_confirmed(telegram: TelegramServer, start: Start) -> None:
    desk = Desk()
    desk.refuses = 10**9
    running = start(desk)
    number = telegram.happens(message=_said("one", 1))
    until(lambda: desk.refuses < 10**9 - 2)
    assert isinstance(running.stop(), Interrupted)
    assert telegram.waiting == [number]
    desk.refuses = 0
    start(desk)
    until(lambda: desk.texts == ["one"])


def test_an_update_that_cannot_be_read_holds_nothing_up(
    telegram: TelegramServer, start: Start
) -> None:
    running = start()
    telegram.happens(message={"message_id": "odd"})
    telegram.happens(message=_said("after", 2))
    until(lambda: running.desk.texts == ["after"])


def test_numbers_of_another_bot_mean_nothing(telegram: TelegramServer, start: Start) -> None:
    desk = Desk()
    desk.place = {"bot": 5, "update": 10**9, "seen": time.time()}
    telegram.happens(message=_said("one", 1))
    start(desk)
    until(lambda: desk.texts == ["one"])


def test_numbers_of_a_week_ago_mean_nothing(telegram: TelegramServer, start: Start) -> None:
    desk = Desk()
    desk.place = {"bot": BOT["id"], "update": 10**9, "seen": time.time() - 7 * 86400}
    telegram.happens(message=_said("one", 1))
    start(desk)
    until(lambda: desk.texts == ["one"])


def test_it_ends_at_once_in_the_middle_of_a_long_poll(
    telegram: TelegramServer, start: Start
) -> None:
    running = start()
    telegram.wait(lambda: telegram.called("getUpdates"))
    assert isinstance(running.stop(), Interrupted)


def test_a_webhook_that_was_set_gives_way(telegram: TelegramServer, start: Start) -> None:
    telegram.webhook = "https://elsewhere.example"
    running = start()
    telegram.happens(message=_said("one", 1))
    until(lambda: running.desk.texts == ["one"])


@pytest.mark.parametrize("status", [401, 404])
def test_a_token_that_is_not_known_needs_a_person(
    telegram: TelegramServer, start: Start, status: int
) -> None:
    telegram.refusals["getMe"].append(Refusal(status, "Unauthorized"))
    ended = start().end()
    assert isinstance(ended, Unusable)
    assert "BotFather" in str(ended)


def test_another_who_fetches_is_named_after_a_while(telegram: TelegramServer, start: Start) -> None:
    telegram.refusals["getUpdates"].extend([Refusal(409, "Conflict: another one")] * 3)
    ended = start(conflict_wait_seconds=0.05, conflict_patience_seconds=0.1).end()
    assert isinstance(ended, Unusable)
    assert "another program" in str(ended)
    assert len(telegram.called("getUpdates")) <= 3


def test_a_line_that_is_taken_once_is_taken_back(telegram: TelegramServer, start: Start) -> None:
    telegram.refusals["getUpdates"].append(Refusal(409, "Conflict: terminated by other"))
    telegram.happens(message=_said("one", 1))
    running = start(conflict_wait_seconds=0.01)
    until(lambda: running.desk.texts == ["one"])


def test_two_pollers_of_one_token_do_not_go_round_for_ever(
    telegram: TelegramServer, start: Start
) -> None:
    made = [start(conflict_wait_seconds=0.1, conflict_patience_seconds=0.3) for _ in range(2)]
    until(lambda: any(one.ended for one in made))
    assert any(isinstance(one.ended, Unusable) for one in made)


@pytest.mark.parametrize("status", [429, 500, 502])
def test_what_passes_by_itself_is_left_to_the_supervisor(
    telegram: TelegramServer, start: Start, status: int
) -> None:
    telegram.refusals["getUpdates"].append(Refusal(status, "later", {"retry_after": 9}))
    ended = start().end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)
    assert (ended.retryable, ended.retry_after) == (True, 9)


def test_a_line_that_breaks_is_left_to_the_supervisor(
    telegram: TelegramServer, start: Start
) -> None:
    running = start()
    telegram.wait(lambda: telegram.called("getUpdates"))
    telegram.drop_all()
    ended = running.end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)


def test_nobody_there_is_left_to_the_supervisor(bot: Bot) -> None:
    running = Running(TelegramPoller(bot(api_url="http://127.0.0.1:1")), Desk())
    ended = running.end()
    assert isinstance(ended, ChannelError)
    assert ended.retryable
