"""What Slack brings over HTTP: events, presses and slash commands (cases: K11, K12)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from sqlalchemy import text

from tests.contract.channels.samples.sample import sample_of
from tests.fakes.model_server import ModelServer
from tests.fakes.slack_server import BOT, TEAM, SlackServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served

_ACCOUNT = """
channels:
  sl: {{type: slack, bot_token_env: BOT, signing_secret_env: SIGNING, api_url: "{url}",
    allow_from: ["U42"]}}
"""
_SAMPLE = sample_of("slack")


@pytest.fixture
def slack() -> Iterator[SlackServer]:
    with SlackServer() as server:
        yield server
        assert server.faults == []


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    slack: SlackServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    for name, value in _SAMPLE.secrets.items():
        monkeypatch.setenv(name, value)
    made = Stack(home, database_url, redis_url, model, _ACCOUNT.format(url=slack.url))
    yield made
    made.close()


def post(served: Served, body: bytes, changed: Mapping[str, str] | None = None) -> httpx2.Response:
    headers = {**_SAMPLE.request("", body).headers, **(changed or {})}
    return served.new_client(None).post("/channels/sl", content=body, headers=headers)


def _rows(served: Served, statement: str) -> list[Any]:
    return list(served.stack.container.database.run(text(statement)))


def test_slack_is_told_that_the_address_is_ours(served: Served) -> None:
    response = post(served, b'{"type": "url_verification", "challenge": "3eZbrw1a"}')
    assert (response.status_code, response.text) == (200, "3eZbrw1a")
    assert response.headers["content-type"].startswith("text/plain")


def test_who_does_not_sign_learns_nothing(served: Served) -> None:
    body = b'{"type": "url_verification", "challenge": "3eZbrw1a"}'
    response = post(served, body, {"x-slack-signature": "v0=" + "0" * 64})
    assert response.status_code == 401
    assert "3eZbrw1a" not in response.text


def test_a_retry_of_which_the_first_never_came_is_a_message(
    served: Served, slack: SlackServer
) -> None:
    event = slack.writes(f"<@{BOT}> hello", "C1")
    retry = {"x-slack-retry-num": "2", "x-slack-retry-reason": "http_timeout"}
    for message in (event, event, event | {"type": "app_mention"}):
        response = post(served, json.dumps(slack.callback(message)).encode(), retry)
        assert (response.status_code, response.content) == (200, b"")
    found = _rows(served, "SELECT body, remote_id FROM chat_messages")
    assert [(one.body, one.remote_id) for one in found] == [("hello", f"{TEAM}:C1:{event['ts']}")]
    assert len(_rows(served, "SELECT id FROM jobs WHERE kind = 'turn'")) == 1


def test_a_slash_command_is_carried_out_and_its_form_answered_with_nothing(
    served: Served,
) -> None:
    form = {"command": "/status", "text": "", "user_id": "U42", "user_name": "mary"}
    form |= {"channel_id": "D1", "team_id": TEAM, "trigger_id": "5.5.a"}
    response = post(served, urlencode(form).encode())
    assert (response.status_code, response.content) == (200, b"")
    found = _rows(served, "SELECT author, kind FROM chat_messages ORDER BY seq")
    assert [(one.author, one.kind) for one in found] == [
        ("user", "command"),
        ("system", "command"),
    ]


def test_a_press_on_what_has_expired_takes_the_buttons_away(
    served: Served, slack: SlackServer
) -> None:
    ts = slack.ts()
    action = {"type": "button", "action_id": "button-0", "value": "hb|n|0", "action_ts": "5.5"}
    place = {"type": "message", "message_ts": ts, "channel_id": "D1"}
    press = {"type": "block_actions", "user": {"id": "U42", "name": "mary"}, "team": {"id": TEAM}}
    payload = json.dumps(press | {"container": place, "actions": [action]})
    response = post(served, urlencode({"payload": payload}).encode())
    assert (response.status_code, response.content) == (200, b"")
    assert slack.called("conversations.history")
