"""From a person at Telegram to the answer there: poller, turn and delivery of the real house."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.fakes.model_server import ModelServer
from tests.fakes.pictures import jpeg_of
from tests.fakes.platform import DROP_AFTER, TAKE, Plan, refuse
from tests.fakes.stack import Stack, until
from tests.fakes.telegram_server import TOKEN, TelegramServer

_ACCOUNT = """
channels:
  tg: {{type: telegram, token_env: TG, api_url: "{url}", allow_from: ["42"],
    messages_per_minute: null}}
"""
_CHATS = range(100, 120)
JPEG = jpeg_of(8, 8)


@pytest.fixture
def house(
    tmp_path: Path,
    database_url: str,
    redis_url: str,
    telegram: TelegramServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("TG", TOKEN)
    with ModelServer() as model:
        account = _ACCOUNT.format(url=telegram.url)
        made = Stack(tmp_path, database_url, redis_url, model, account)
        yield made
        made.close()


def _said(said: str, number: int = 7, sender: int = 42, chat: int = 42) -> dict[str, Any]:
    return {
        "message_id": number,
        "date": 1,
        "chat": {"id": chat, "type": "private"},
        "from": {"id": sender, "is_bot": False, "first_name": "Alice"},
        "text": said,
    }


@contextmanager
def _listening(house: Stack) -> Iterator[None]:
    supervisor = house.container.supervisor()
    supervisor.start()
    try:
        yield
    finally:
        supervisor.stop()


class Listener:
    """The process `channels`, as it runs beside the workers."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._process = self._started()

    def kill_and_start(self) -> None:
        """End it in whatever it does, and start another."""
        self._process.kill()
        self._process.wait()
        self._process = self._started()

    def stop(self) -> int:
        """Tell it to end, and return its code."""
        self._process.terminate()
        return self._process.wait(30)

    def _started(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "workers.channels"]
        return subprocess.Popen(command, env=self._environment)


@pytest.fixture
def listener(house: Stack, tmp_path: Path, database_url: str, redis_url: str) -> Iterator[Listener]:
    addresses = {"DATABASE_URL": database_url, "REDIS_URL": redis_url, "MINE_KEY": "k"}
    made = Listener({**os.environ, **addresses, "HABAKKUK_HOME": str(tmp_path)})
    yield made
    made.stop()


def _rows(house: Stack, statement: str) -> list[Any]:
    return list(house.container.database.run(text(statement)))


def _turns(house: Stack) -> int:
    return len(_rows(house, "SELECT id FROM turns"))


def _has_turns(house: Stack, least: int) -> bool:
    return _turns(house) >= least


def test_a_message_is_answered_under_itself(house: Stack, telegram: TelegramServer) -> None:
    telegram.happens(message=_said("hello"))
    house.start()
    with _listening(house):
        until(lambda: telegram.shown)
    (shown,) = telegram.shown
    assert (shown.chat, shown.text) == ("42", "echo: hello")
    assert shown.asked["reply_parameters"]["message_id"] == 7


def test_a_stranger_gets_no_turn(house: Stack, telegram: TelegramServer) -> None:
    telegram.happens(message=_said("let me in", sender=99, chat=99))
    telegram.happens(message=_said("hello"))
    house.start()
    with _listening(house):
        until(lambda: any(one.text == "echo: hello" for one in telegram.shown))
    assert not any("let me in" in one.text for one in telegram.shown)
    assert _turns(house) == 1


def test_a_question_is_answered_by_its_button(house: Stack, telegram: TelegramServer) -> None:
    asked = '{"questions": [{"question": "Which one?", "choices": ["tea", "soup"]}]}'
    telegram.happens(message=_said(f"[[tool clarify {asked}]] go"))
    house.start()
    with _listening(house):
        until(lambda: telegram.shown)
        (row,) = telegram.shown[0].asked["reply_markup"]["inline_keyboard"]
        assert [one["text"] for one in row] == ["A. tea", "B. soup"]
        sender = {"id": 42, "is_bot": False, "first_name": "Alice"}
        below = {
            "message_id": telegram.shown[0].id,
            "date": 0,
            "chat": {"id": 42, "type": "private"},
        }
        pressed = {"id": "q1", "from": sender, "message": below, "data": row[1]["callback_data"]}
        telegram.happens(callback_query=pressed)
        until(lambda: len(telegram.shown) == 2)
    assert telegram.called("answerCallbackQuery")[0]["text"] == "Answered: soup"
    (gone,) = telegram.called("editMessageReplyMarkup")
    assert gone["message_id"] == str(telegram.shown[0].id)


def test_a_photo_is_seen_and_a_file_comes_back(house: Stack, telegram: TelegramServer) -> None:
    """An album is two updates and one turn; what the agent sends comes before its answer."""
    telegram.files |= {"F1": ("photos/1.jpg", JPEG), "F2": ("photos/2.jpg", JPEG + b"2")}
    workspace = house.home / "agents" / "habakkuk" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "plan.txt").write_text("the plan")
    said = '[[tool send_file {"path": "plan.txt", "caption": "here"}]] go'
    for number, photo, caption in ((7, "F1", said), (8, "F2", "")):
        sizes = [{"file_id": photo, "file_unique_id": photo, "width": 9, "height": 9}]
        album = {"media_group_id": "1", "photo": sizes, "caption": caption}
        telegram.happens(message=_said("", number) | album)
    house.start()
    with _listening(house):
        until(lambda: len(telegram.shown) == 2)
    file, answer = telegram.shown
    assert (file.method, file.text, file.asked["document"].data) == (
        "sendDocument",
        "here",
        b"the plan",
    )
    assert answer.method == "sendMessage"
    (turn,) = _rows(house, "SELECT session_id FROM turns")
    (opening, *_) = house.container.conversations.transcript(house.principal, turn.session_id)
    shown = [block for block in opening.message.blocks if block.type == "media"]
    assert [house.container.blobs.get(one.blob) for one in shown] == [JPEG, JPEG + b"2"]
    assert len(list((workspace / "inbox").iterdir())) == 2


def test_each_is_answered_once_through_waits_breaks_and_restarts(
    house: Stack, telegram: TelegramServer
) -> None:
    """Every message comes twice, from a poller that is started anew in between."""
    plans: list[Plan] = [TAKE, refuse(429, retry_after="1"), TAKE, DROP_AFTER]
    telegram.plans.extend(plans * 3)
    numbers = [telegram.happens(message=_said(f"m{chat}", chat=chat)) for chat in _CHATS]
    house.start()
    for _ in range(2):
        with _listening(house):
            until(lambda: not set(numbers) & set(telegram.waiting))
        # As after a crash between storing and confirming.
        for number, chat in zip(numbers, _CHATS, strict=True):
            telegram.happens(number, message=_said(f"m{chat}", chat=chat))
        house.container.database.run(text("DELETE FROM channel_state WHERE account = 'tg'"))
    until(
        lambda: len(_rows(house, "SELECT id FROM deliveries WHERE state = 'sent'")) == len(_CHATS)
    )
    answered = {chat: [one for one in telegram.shown if one.chat == str(chat)] for chat in _CHATS}
    (doubtful,) = _rows(house, "SELECT sum(uncertain) AS times FROM delivery_chunks")
    assert all(one.text == f"echo: m{chat}" for chat, all_ in answered.items() for one in all_)
    assert all(answered.values())
    # Shown twice only where a line broke, and each of those is counted.
    twice = sum(len(all_) - 1 for all_ in answered.values())
    assert twice == doubtful.times == plans.count(DROP_AFTER) * 3


@pytest.mark.slow
def test_a_killed_listener_loses_nothing_and_brings_nothing_twice(
    house: Stack, telegram: TelegramServer, listener: Listener
) -> None:
    """40 messages, in two lots with a kill -9 in the midst of each."""
    house.start()
    chats = range(200, 240)
    for lot in (chats[:20], chats[20:]):
        enough = _turns(house) + 4
        for chat in lot:
            telegram.happens(message=_said(f"m{chat}", chat=chat))
        until(partial(_has_turns, house, enough))
        listener.kill_and_start()
    until(lambda: len(telegram.shown) >= len(chats))
    until(lambda: telegram.waiting == [])
    assert sorted(one.text for one in telegram.shown) == [f"echo: m{chat}" for chat in chats]
    assert _turns(house) == len(chats)
    assert listener.stop() == 0
