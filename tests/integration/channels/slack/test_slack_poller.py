"""What happens in a workspace, over the line of Socket Mode (cases: K11, K12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from habakkuk.channels.contract import Unusable
from habakkuk.channels.messages import Edit, InboundMessage, Press, Removal
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupted
from tests.fakes.listening import Desk, Running
from tests.fakes.slack_server import BOT, TEAM, Refusal, SlackServer
from tests.fakes.stack import until
from tests.integration.channels.slack.parts import app, listening

Start = Callable[..., Running]


@pytest.fixture
def start(slack: SlackServer) -> Iterator[Start]:
    started: list[Running] = []

    def make(desk: Desk | None = None) -> Running:
        made = listening(app(slack), desk)
        started.append(made)
        return made

    yield make
    for one in started:
        one.stop()
    assert slack.socket.late == []


def _away_after_one(slack: SlackServer, start: Start) -> Desk:
    """Return the desk of a listener that took one message and is gone."""
    desk = Desk()
    first = start(desk)
    until(lambda: slack.socket.lines)
    slack.says("one")
    # Acknowledged, too: else Slack brings it again.
    until(lambda: desk.texts == ["one"] and slack.socket.brought)
    first.stop()
    return desk


def test_what_is_written_comes_at_once_and_in_order(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    for n in range(20):
        slack.says(f"m{n}")
    until(lambda: len(running.desk.texts) == 20)
    assert running.desk.texts == [f"m{n}" for n in range(20)]
    until(lambda: slack.socket.pending == [])


def test_what_is_not_stored_is_not_acknowledged(slack: SlackServer, start: Start) -> None:
    desk = Desk()
    desk.refuses = 10**9
    running = start(desk)
    until(lambda: slack.socket.lines)
    slack.says("one")
    until(lambda: desk.refuses < 10**9 - 2)
    assert isinstance(running.stop(), Interrupted)
    assert (desk.texts, slack.socket.brought) == ([], [])
    desk.refuses = 0
    start(desk)
    until(lambda: desk.texts == ["one"])


def test_a_retry_is_read_as_what_it_repeats(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    message = slack.says("one")
    slack.happens(message, delay=0.1)
    until(lambda: len(running.desk.events) == 2)
    assert len({one.id for one in running.desk.events}) == 1


def test_a_mention_that_comes_as_two_events_is_one_message(
    slack: SlackServer, start: Start
) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    message = slack.says(f"<@{BOT}> hello", "C1")
    slack.happens(message | {"type": "app_mention", "channel_type": None})
    until(lambda: len(running.desk.events) == 2)
    first, second = running.desk.events
    assert first == second


def test_what_slack_renews_is_renewed_without_a_gap(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    for reason in ("warning", "refresh_requested"):
        slack.socket.say(type="disconnect", reason=reason, debug_info={})
    until(lambda: slack.socket.opened == 2 and len(slack.socket.lines) == 1)
    slack.says("after")
    until(lambda: running.desk.texts == ["after"])
    assert slack.socket.opened == 2


def test_a_line_that_breaks_is_left_to_the_supervisor(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    slack.socket.drop_all()
    ended = running.end()
    assert isinstance(ended, ChannelError)
    assert not isinstance(ended, Unusable)
    assert ended.retryable


def test_it_ends_at_once_while_nothing_happens(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    assert isinstance(running.stop(), Interrupted)


def test_socket_mode_that_is_switched_off_needs_a_person(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    slack.socket.say(type="disconnect", reason="link_disabled", debug_info={})
    ended = running.end()
    assert isinstance(ended, Unusable)
    assert "Socket Mode" in str(ended)


@pytest.mark.parametrize(
    ("method", "code", "setting"),
    [
        ("apps.connections.open", "invalid_auth", "app_token_env"),
        ("apps.connections.open", "not_allowed_token_type", "app_token_env"),
        ("auth.test", "account_inactive", "bot_token_env"),
    ],
)
def test_a_token_that_is_not_taken_needs_a_person(
    slack: SlackServer, start: Start, method: str, code: str, setting: str
) -> None:
    slack.refusals[method].append(Refusal(code))
    ended = start().end()
    assert isinstance(ended, Unusable)
    assert setting in str(ended)


def test_a_wait_is_left_to_the_supervisor(slack: SlackServer, start: Start) -> None:
    busy = Refusal("ratelimited", 429, headers={"retry-after": "30"})
    slack.refusals["apps.connections.open"].append(busy)
    ended = start().end()
    assert isinstance(ended, ChannelError)
    assert (ended.retryable, ended.retry_after) == (True, 30)


def test_nobody_there_is_left_to_the_supervisor(slack: SlackServer) -> None:
    ended = listening(app(slack, api_url="http://127.0.0.1:1/")).end()
    assert isinstance(ended, ChannelError)
    assert ended.retryable


def test_what_cannot_be_read_holds_nothing_up(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    slack.happens({"type": "message", "ts": 5})
    slack.happens({"type": "team_join", "user": {"id": "U1"}})
    slack.says("after")
    until(lambda: running.desk.texts == ["after"])
    until(lambda: slack.socket.pending == [])


def test_a_thread_that_cannot_be_looked_up_comes_again(slack: SlackServer, start: Start) -> None:
    """Whether it is meant for the bot is not known, so it is neither read nor thrown away."""
    root = slack.writes(f"<@{BOT}> start", "C1")
    slack.refusals["conversations.replies"].append(Refusal("internal_error"))
    running = start()
    until(lambda: slack.socket.lines)
    slack.says("and then?", "C1", thread_ts=root["ts"], parent_user_id="U42")
    until(lambda: not slack.refusals["conversations.replies"])
    slack.socket.wait_no_longer()
    until(lambda: running.desk.events)
    (message,) = running.desk.events
    assert isinstance(message, InboundMessage)
    assert message.addressed
    until(lambda: slack.socket.brought)
    assert slack.socket.brought[0].attempt == 1
    assert slack.socket.late.pop() == "events_api was not acknowledged"


def test_presses_edits_deletions_and_commands_come_too(slack: SlackServer, start: Start) -> None:
    running = start()
    until(lambda: slack.socket.lines)
    before = slack.writes("teh")
    now = before | {"text": "the", "edited": {"user": "U42", "ts": slack.ts()}}
    change = {"type": "message", "channel": "D1", "channel_type": "im", "ts": slack.ts()}
    told = {"message": now, "previous_message": before}
    slack.happens(change | {"subtype": "message_changed"} | told)
    slack.happens(change | {"subtype": "message_deleted", "previous_message": now})
    action = {"type": "button", "action_id": "button-0", "value": "hb|n|0", "action_ts": "5.5"}
    place = {"type": "message", "message_ts": before["ts"], "channel_id": "D1"}
    press = {"type": "block_actions", "user": {"id": "U42", "name": "mary"}, "team": {"id": TEAM}}
    slack.socket.put("interactive", press | {"container": place, "actions": [action]})
    command = {"command": "/stop", "text": "now", "user_id": "U42", "user_name": "mary"}
    command |= {"channel_id": "D1", "team_id": TEAM, "trigger_id": "9.9.f"}
    slack.socket.put("slash_commands", command)
    until(lambda: len(running.desk.events) == 4)
    name = f"{TEAM}:D1:{before['ts']}"
    assert running.desk.events == [
        Edit(name, "D1", "U42", "the"),
        Removal(name, "D1", "U42"),
        Press(f"{name}:5.5:U42", "D1", "U42", "hb|n|0", name, sender_name="mary"),
        InboundMessage(f"{TEAM}:D1:command-9.9.f", "D1", "U42", "/stop now", sender_name="mary"),
    ]
    until(lambda: slack.socket.pending == [])


def test_what_slack_gave_up_on_is_read_back(slack: SlackServer, start: Start) -> None:
    desk = _away_after_one(slack, start)
    for n in (2, 3):
        slack.writes(f"missed {n}")
    start(desk)
    until(lambda: len(desk.texts) >= 4)
    # What was stored before comes again, under its own id.
    assert desk.texts == ["one", "one", "missed 2", "missed 3"]
    assert desk.events[0] == desk.events[1]


def test_more_than_a_page_is_read_back_in_order(slack: SlackServer, start: Start) -> None:
    desk = _away_after_one(slack, start)
    for n in range(450):
        slack.writes(f"missed {n}")
    start(desk)
    until(lambda: desk.texts[-1:] == ["missed 449"])
    assert desk.texts == ["one", "one", *(f"missed {n}" for n in range(450))]


def test_what_is_more_than_is_read_back_is_said(
    slack: SlackServer, start: Start, capfd: pytest.CaptureFixture[str]
) -> None:
    desk = _away_after_one(slack, start)
    for n in range(1100):
        slack.writes(f"missed {n}")
    start(desk)
    slack.says("after")
    until(lambda: desk.texts[-1:] == ["after"])
    assert len(desk.texts) == 1 + 1000 + 1
    told = capfd.readouterr()
    assert "more was written in a chat than is read back" in told.out + told.err


def test_what_was_read_counts_where_slack_gives_no_more(
    slack: SlackServer, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = _away_after_one(slack, start)
    for n in range(300):
        slack.writes(f"missed {n}")
    read = slack._conversations_history

    def busy(asked: Mapping[str, Any]) -> Any:
        if asked.get("cursor"):
            raise Refusal("ratelimited")
        return read(asked)

    monkeypatch.setattr(slack, "_conversations_history", busy)
    start(desk)
    slack.says("after")
    until(lambda: desk.texts[-1:] == ["after"])
    assert desk.texts == ["one", "one", *(f"missed {n}" for n in range(199)), "after"]


def test_a_chat_that_cannot_be_read_back_holds_nothing_up(slack: SlackServer, start: Start) -> None:
    desk = _away_after_one(slack, start)
    slack.refusals["conversations.history"].append(Refusal("missing_scope", needed="im:history"))
    start(desk)
    until(lambda: slack.socket.lines)
    slack.says("two")
    until(lambda: desk.texts == ["one", "two"])


def test_one_line_serves_every_workspace(slack: SlackServer) -> None:
    slack.teams["xoxb-of-another-workspace"] = "T0000002"
    two = {"workspaces": {"T0000002": "TWO"}, "secrets": {"TWO": "xoxb-of-another-workspace"}}
    desk = Desk()
    first = listening(app(slack, **two), desk)
    until(lambda: slack.socket.lines)
    slack.says("one", "D1", team="T0000002")
    # Acknowledged, too: else Slack brings it again.
    until(lambda: desk.texts == ["one"] and slack.socket.brought)
    first.stop()
    slack.writes("missed", "D1", team="T0000002")
    second = listening(app(slack, **two), desk)
    until(lambda: "missed" in desk.texts)
    second.stop()
    assert {(one.chat, one.sender) for one in desk.events} == {("T0000002/D1", "T0000002/U42")}


@pytest.mark.parametrize(
    "address",
    [
        "wss://slack.example/link/?ticket=a-secret-of-its-own",
        "wss://notslack.com/link/?ticket=a-secret-of-its-own",
        "wss://wss-primary.slack.com:8443/link/?ticket=a-secret-of-its-own",
        "ws://wss-primary.slack.com/link/?ticket=a-secret-of-its-own",
        "wss://wss-primary.slack.com@evil.example/link/?ticket=a-secret-of-its-own",
        "wss://[wss-primary.slack.com/link/?ticket=a-secret-of-its-own",
        "http://127.0.0.1/link/?ticket=a-secret-of-its-own",
    ],
)
def test_a_line_elsewhere_is_not_opened(slack: SlackServer, address: str) -> None:
    slack.socket.address = address
    ended = listening(app(slack)).end()
    assert isinstance(ended, ChannelError)
    assert "does not lead to Slack" in str(ended)
    assert "a-secret" not in str(ended)


def test_an_address_that_leads_nowhere_is_told_without_it(slack: SlackServer) -> None:
    """It opens the line for whoever has it."""
    slack.socket.address = "ws://127.0.0.1:1/link/?ticket=a-secret-of-its-own"
    ended = listening(app(slack)).end()
    assert isinstance(ended, ChannelError)
    assert ended.retryable
    assert "a-secret" not in str(ended)
