"""From a person at Discord to the answer there: gateway, turn and delivery of the real house."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.fakes.discord_rooms import BOT, ROOM
from tests.fakes.discord_server import TOKEN, DiscordServer
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack, until

_ACCOUNT = """
channels:
  dc: {{type: discord, token_env: DC, api_url: "{url}", gateway_url: "{gateway}",
    allow_from: ["42"], messages_per_minute: null}}
"""


@pytest.fixture
def house(
    tmp_path: Path,
    database_url: str,
    redis_url: str,
    discord: DiscordServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("DC", TOKEN)
    with ModelServer() as model:
        account = _ACCOUNT.format(url=discord.url, gateway=discord.gateway.url)
        made = Stack(tmp_path, database_url, redis_url, model, account)
        yield made
        made.close()


@contextmanager
def _listening(house: Stack, discord: DiscordServer) -> Iterator[None]:
    supervisor = house.container.supervisor()
    supervisor.start()
    try:
        discord.wait(lambda: discord.gateway.lines)
        yield
    finally:
        supervisor.stop()


def _rows(house: Stack, statement: str) -> list[Any]:
    return list(house.container.database.run(text(statement)))


def test_a_message_is_answered_under_itself(house: Stack, discord: DiscordServer) -> None:
    house.start()
    with _listening(house, discord):
        asked = discord.says("hello")
        until(lambda: discord.shown)
    (shown,) = discord.shown
    assert (shown.chat, shown.text) == ("42", "echo: hello")
    assert shown.asked["message_reference"]["message_id"] == asked


def test_in_a_server_what_mentions_the_bot_is_answered_and_nothing_else(
    house: Stack, discord: DiscordServer
) -> None:
    house.start()
    with _listening(house, discord):
        discord.says("to somebody", ROOM)
        discord.says(f"<@{BOT['id']}> hello", ROOM, mentions=[BOT])
        until(lambda: discord.shown)
        discord.says("a stranger", "99", "99")
        discord.says("again")
        until(lambda: any("echo: again" in one.text for one in discord.shown))
    answers = [one for one in discord.shown if "echo" in one.text]
    assert [(one.chat, one.text.splitlines()[-1][-5:]) for one in answers] == [
        (ROOM, "hello"),
        ("42", "again"),
    ]
    assert len(_rows(house, "SELECT id FROM turns")) == 2


def test_a_question_is_answered_by_its_button(house: Stack, discord: DiscordServer) -> None:
    asked = '{"questions": [{"question": "Which one?", "choices": ["tea", "soup"]}]}'
    house.start()
    with _listening(house, discord):
        discord.says(f"[[tool clarify {asked}]] go")
        until(lambda: discord.shown)
        (row,) = discord.shown[0].asked["components"]
        labels = [one["label"] for one in row["components"]]
        assert labels == ["A. tea", "B. soup"]
        press = discord.presses(discord.shown[0], row["components"][1]["custom_id"])
        until(lambda: len(discord.shown) == 2)
        until(lambda: discord.called("POST", r"/webhooks/.*"))
    (answered,) = discord.called("POST", rf"/interactions/{press}/.*")
    assert answered == {"type": 7, "data": {"components": []}}
    (told,) = discord.called("POST", r"/webhooks/.*")
    assert (told["content"], told["flags"]) == ("Answered: soup", 64)
