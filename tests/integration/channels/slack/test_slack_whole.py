"""From a person in a workspace to the answer there: line, turn and delivery of the real house."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from tests.fakes.model_server import ModelServer
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, TAKE, Plan, refuse
from tests.fakes.slack_server import APP_TOKEN, BOT, BOT_TOKEN, TEAM, SlackServer
from tests.fakes.stack import Stack, until

_ACCOUNT = """
channels:
  sl: {{type: slack, bot_token_env: SLB, app_token_env: SLA, api_url: "{url}",
    allow_from: ["U42"], messages_per_minute: null, reactions: true}}
"""


@pytest.fixture
def house(
    tmp_path: Path,
    database_url: str,
    redis_url: str,
    slack: SlackServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("SLB", BOT_TOKEN)
    monkeypatch.setenv("SLA", APP_TOKEN)
    with ModelServer() as model:
        made = Stack(tmp_path, database_url, redis_url, model, _ACCOUNT.format(url=slack.url))
        yield made
        made.close()


@contextmanager
def _listening(house: Stack, slack: SlackServer) -> Iterator[None]:
    supervisor = house.container.supervisor()
    supervisor.start()
    try:
        until(lambda: slack.socket.lines)
        yield
    finally:
        supervisor.stop()


def _rows(house: Stack, statement: str) -> list[Any]:
    return list(house.container.database.run(text(statement)))


def _turns(house: Stack) -> int:
    return len(_rows(house, "SELECT id FROM turns"))


def test_a_message_is_answered(house: Stack, slack: SlackServer) -> None:
    house.start()
    with _listening(house, slack):
        slack.says("hello")
        until(lambda: slack.shown)
    (shown,) = slack.shown
    assert (shown.chat, shown.thread, shown.text) == ("D1", "", "echo: hello")


def test_a_mention_in_a_channel_is_answered_in_a_thread_and_once(
    house: Stack, slack: SlackServer
) -> None:
    house.start()
    with _listening(house, slack):
        message = slack.says(f"<@{BOT}> hello", "C1")
        slack.happens(message | {"type": "app_mention"})
        until(lambda: slack.shown and not slack.socket.pending)
        slack.says("and more", "C1", thread_ts=message["ts"], parent_user_id="U42")
        until(lambda: len(slack.shown) == 2)
    assert [one.thread for one in slack.shown] == [message["ts"]] * 2
    assert "hello" in slack.shown[0].text
    assert "and more" in slack.shown[1].text
    assert _turns(house) == 2


def test_a_question_is_answered_by_its_button(house: Stack, slack: SlackServer) -> None:
    asked = '{"questions": [{"question": "Which one?", "choices": ["tea", "soup"]}]}'
    house.start()
    with _listening(house, slack):
        slack.says(f"[[tool clarify {asked}]] go")
        until(lambda: slack.shown)
        question = slack.shown[0]
        buttons = question.asked["blocks"][-1]["elements"]
        assert [one["text"]["text"] for one in buttons] == ["A. tea", "B. soup"]
        action = buttons[1] | {"action_ts": "1.5"}
        place = {"type": "message", "message_ts": question.ts, "channel_id": "D1"}
        press = {"type": "block_actions", "user": {"id": "U42"}, "team": {"id": TEAM}}
        slack.socket.put("interactive", press | {"container": place, "actions": [action]})
        until(lambda: len(slack.shown) == 2)
    assert "Answered: soup" in question.text
    assert not any(one["type"] == "actions" for one in question.asked["blocks"])


def test_a_file_that_came_is_read_and_its_message_marked(house: Stack, slack: SlackServer) -> None:
    told = {"id": "F7", "name": "notes.txt", "size": 5, "mimetype": "text/plain", "mode": "hosted"}
    slack.files["F7"], slack.contents["F7"] = told, b"tea!\n"
    house.start()
    with _listening(house, slack):
        message = slack.says("what is this?", subtype="file_share", files=[told])
        until(lambda: slack.shown)
        until(lambda: slack.reactions["D1", message["ts"]] == ["+1"])
    (found,) = house.home.glob("agents/*/workspace/inbox/notes-*.txt")
    assert found.read_bytes() == b"tea!\n"


def test_each_is_answered_once_through_waits_and_breaks(house: Stack, slack: SlackServer) -> None:
    """Whether a message arrived is asked, so nothing is shown again and nothing is uncertain."""
    plans: list[Plan] = [TAKE, refuse(429, retry_after="1"), DROP_BEFORE, DROP_AFTER]
    slack.plans.extend(plans * 2)
    chats = [f"D{n}" for n in range(12)]
    house.start()
    with _listening(house, slack):
        for chat in chats:
            slack.happens(slack.says(f"m{chat}", chat), delay=0.1)
        sent = "SELECT id FROM deliveries WHERE state = 'sent'"
        until(lambda: len(_rows(house, sent)) == len(chats) and not slack.socket.pending)
    assert sorted((one.chat, one.text) for one in slack.shown) == sorted(
        (chat, f"echo: m{chat}") for chat in chats
    )
    (doubtful,) = _rows(house, "SELECT sum(uncertain) AS times FROM delivery_chunks")
    assert not doubtful.times
