"""What a platform is told of an account: the commands of /help, and where to bring messages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from habakkuk.channels.registry import Line
from habakkuk.commands.registry import CommandRegistry
from habakkuk.gateway.offers import offer
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.fakes.telegram_server import TOKEN, Refusal, TelegramServer
from web.cli import group

_ACCOUNTS = """
public_url: https://chat.example.org
channels:
  bot: {{type: telegram, token_env: TOKEN, api_url: "{url}", username: hab_bot,
         webhook_secret_env: HOOK}}
"""


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    telegram: TelegramServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("TOKEN", TOKEN)
    monkeypatch.setenv("HOOK", "a-secret_of-the-webhook")
    made = Stack(home, database_url, redis_url, model, _ACCOUNTS.format(url=telegram.url))
    yield made
    made.close()


@pytest.fixture
def line(stack: Stack) -> Line:
    found = stack.container.channels.line("bot")
    assert found is not None
    return found


def _offer(stack: Stack, line: Line) -> bool:
    return offer(stack.container.database, line)


def test_the_list_is_that_of_help(stack: Stack, line: Line, telegram: TelegramServer) -> None:
    assert _offer(stack, line)
    (asked,) = telegram.called("setMyCommands")
    told = {one["command"]: one["description"] for one in asked["commands"]}
    assert told == {name: one.help for name, one in CommandRegistry().all.items()}


def test_it_is_told_once(stack: Stack, line: Line, telegram: TelegramServer) -> None:
    assert [_offer(stack, line), _offer(stack, line)] == [True, False]
    assert len(telegram.called("setMyCommands")) == 1


def test_what_failed_is_told_the_next_time(
    stack: Stack, line: Line, telegram: TelegramServer
) -> None:
    telegram.refusals["setMyCommands"].append(Refusal(500, "Internal Server Error"))
    with pytest.raises(Exception, match="Telegram"):
        _offer(stack, line)
    assert _offer(stack, line)


def test_setup_tells_where_to_bring_messages(
    stack: Stack, telegram: TelegramServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "database_url", "redis_url"):
        value = str(getattr(stack.container.settings, name))
        monkeypatch.setenv("HABAKKUK_HOME" if name == "home" else name.upper(), value)
    ran = CliRunner().invoke(group(), ["channels", "setup", "bot"])
    assert ran.exit_code == 0, ran.output
    assert "where to bring messages" in ran.output
    (asked,) = telegram.called("setWebhook")
    assert asked["url"] == "https://chat.example.org/channels/bot"
    assert asked["secret_token"] == "a-secret_of-the-webhook"
