"""What happens in a workspace, over the line of Socket Mode (cases: K11, K12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from habakkuk.channels.messages import Edit, InboundMessage, Press, Removal
from habakkuk.channels.polling import Unusable
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
