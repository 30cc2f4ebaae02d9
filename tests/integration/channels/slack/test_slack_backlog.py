"""What was written in direct messages while nobody listened (case: K6)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from habakkuk.channels.messages import Edit
from habakkuk.channels.slack.knowledge import Knowledge
from habakkuk.core.errors import ChannelError
from tests.fakes.listening import Desk, Running
from tests.fakes.slack_rules import Budget
from tests.fakes.slack_server import Refusal, SlackServer
from tests.fakes.stack import until
from tests.integration.channels.slack.parts import app, listening

Start = Callable[..., Running]
_HISTORY = "conversations.history"


@pytest.fixture
def start(slack: SlackServer) -> Iterator[Start]:
    started: list[Running] = []

    def make(desk: Desk, **more: Any) -> Running:
        before = slack.socket.opened
        made = listening(app(slack, **more), desk)
        started.append(made)
        until(lambda: slack.socket.opened > before and slack.socket.lines)
        return made

    yield make
    for one in started:
        one.stop()
    assert slack.socket.late == []


@pytest.fixture
def hears(slack: SlackServer, start: Start) -> Callable[..., dict[str, Any]]:
    """Listen, take one message of each chat, and be gone; return the message of the last."""

    def make(desk: Desk, *chats: str) -> dict[str, Any]:
        running = start(desk)
        said = [slack.says("one", chat) for chat in chats]
        # Acknowledged, too: else Slack brings it again.
        until(lambda: len(desk.texts) == len(slack.socket.brought) == len(chats))
        running.stop()
        return said[-1]

    return make


Hears = Callable[..., dict[str, Any]]


def _refuse(slack: SlackServer, error: str, **more: Any) -> None:
    slack.refusals[_HISTORY].append(Refusal(error, **more))


def _ratelimited(slack: SlackServer, seconds: int) -> None:
    _refuse(slack, "ratelimited", status=429, headers={"retry-after": str(seconds)})


def test_what_slack_gave_up_on_is_read_back(slack: SlackServer, start: Start, hears: Hears) -> None:
    desk = Desk()
    hears(desk, "D1")
    for n in (2, 3):
        slack.writes(f"missed {n}")
    start(desk)
    until(lambda: len(desk.texts) >= 4)
    # What was stored before comes again, under its own id.
    assert desk.texts == ["one", "one", "missed 2", "missed 3"]
    assert desk.events[0] == desk.events[1]


def test_all_of_a_chat_is_read_back_in_order(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1")
    for n in range(1100):
        slack.writes(f"missed {n}")
    start(desk)
    until(lambda: desk.texts[-1:] == ["missed 1099"])
    assert desk.texts == ["one", "one", *(f"missed {n}" for n in range(1100))]


def test_slack_is_asked_no_more_often_than_it_allows_and_nothing_is_passed_over(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    chats = [f"D{n}" for n in range(5)]
    hears(desk, *chats)
    for chat in chats:
        slack.writes(f"missed in {chat}", chat)
    budget = slack.budgets[_HISTORY] = Budget(2, seconds=1.0)
    start(desk)
    until(lambda: {f"missed in {chat}" for chat in chats} <= set(desk.texts))
    # Each wait that Slack asked for was kept: the call after it was taken.
    assert 0 < budget.refused <= len(slack.called(_HISTORY)) / 2


def test_what_comes_does_not_wait_for_what_was_missed(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1")
    slack.writes("missed")
    _ratelimited(slack, 3600)
    start(desk)
    slack.says("after")
    until(lambda: desk.texts == ["one", "after"])


def test_what_is_not_read_yet_is_read_by_the_next_run(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    """What comes meanwhile in the same chat must not cover what was missed there."""
    desk = Desk()
    hears(desk, "D1")
    message = slack.writes("missed")
    # Beyond what is read twice anyway.
    message["ts"] = f"{float(message['ts']) + 10:.6f}"
    _ratelimited(slack, 3600)
    second = start(desk)
    slack.says("after", ts=f"{float(message['ts']) + 5000:.6f}")
    until(lambda: desk.texts == ["one", "after"])
    second.stop()
    start(desk)
    until(lambda: "missed" in desk.texts)


def test_a_wait_that_slack_asks_for_outlasts_the_line(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1")
    _ratelimited(slack, 3600)
    adapter = app(slack)
    first = listening(adapter, desk)
    until(lambda: len(slack.called(_HISTORY)) == 1)
    slack.socket.drop_all()
    first.end()
    before = slack.socket.opened
    second = listening(adapter, desk)
    until(lambda: slack.socket.opened > before)
    slack.says("after")
    until(lambda: desk.texts == ["one", "after"])
    second.stop()
    assert len(slack.called(_HISTORY)) == 1


def test_a_chat_that_was_read_in_part_goes_on_there(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1")
    for n in range(300):
        slack.writes(f"missed {n}")
    slack.budgets[_HISTORY] = Budget(1, seconds=3600.0)
    second = start(desk)
    until(lambda: desk.texts[-1:] == ["missed 198"])
    second.stop()
    del slack.budgets[_HISTORY]
    start(desk)
    until(lambda: desk.texts[-1:] == ["missed 299"])
    assert desk.texts == ["one", "one", *(f"missed {n}" for n in range(300))]


def test_what_comes_stands_behind_what_was_missed_in_its_chat(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1", "D2")
    for chat in ("D1", "D2"):
        for n in range(20):
            slack.writes(f"{chat} {n}", chat)
    slack.says("after", "D2")
    start(desk)
    until(lambda: "after" in desk.texts and "D1 19" in desk.texts)
    # It stands in the history as well.
    assert desk.texts.index("D2 19") < desk.texts.index("after")


def test_a_chat_that_is_refused_holds_nothing_up_and_is_tried_with_the_next_line(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1", "D2")
    slack.writes("missed here", "D1")
    slack.writes("missed there", "D2")
    _refuse(slack, "missing_scope", needed="im:history")
    second = start(desk)
    until(lambda: "missed there" in desk.texts)
    slack.says("new", "D1")
    until(lambda: "new" in desk.texts)
    second.stop()
    assert "missed here" not in desk.texts
    start(desk)
    until(lambda: "missed here" in desk.texts)


def test_a_failure_that_passes_is_tried_again(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1")
    slack.writes("missed")
    _refuse(slack, "internal_error", headers={"retry-after": "1"})
    start(desk)
    until(lambda: "missed" in desk.texts)


def test_a_message_that_cannot_be_read_now_is_not_tried_without_rest(
    slack: SlackServer, start: Start, hears: Hears, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the workspace's own name cannot be asked for."""
    desk = Desk()
    hears(desk, "D1")
    slack.writes("missed")
    tries: list[float] = []
    team = Knowledge.team

    def away(knowledge: Knowledge) -> str:
        tries.append(time.monotonic())
        if len(tries) <= 2:
            raise ChannelError("not now", retryable=True, retry_after=0.2)
        return team(knowledge)

    monkeypatch.setattr(Knowledge, "team", away)
    start(desk)
    until(lambda: "missed" in desk.texts)
    assert tries[2] - tries[0] >= 0.4


def test_a_chat_that_is_gone_is_not_asked_for_again(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    desk = Desk()
    hears(desk, "D1", "D2")
    _refuse(slack, "channel_not_found")
    start(desk)
    until(lambda: list((desk.place or {}).get("seen", {})) == ["D2"])
    until(lambda: "missed" not in (desk.place or {}))


def test_what_was_changed_meanwhile_is_told(slack: SlackServer, start: Start, hears: Hears) -> None:
    desk = Desk()
    said = hears(desk, "D1")
    slack.edits(said, "two")
    start(desk)
    until(lambda: desk.of(Edit))
    (edit,) = desk.of(Edit)
    assert (edit.id, edit.text) == (desk.messages[0].id, "two")


def test_what_was_changed_before_is_not_told_again(
    slack: SlackServer, start: Start, hears: Hears
) -> None:
    """Its text may read differently by now, as when somebody whom it mentions has a new name."""
    desk = Desk()
    old = slack.writes("old")
    old["ts"] = f"{float(old['ts']) - 3000:.6f}"
    slack.edits(old, "new")
    old["edited"]["ts"] = f"{float(old['ts']) + 60:.6f}"
    hears(desk, "D1")
    slack.writes("missed")
    start(desk)
    until(lambda: "missed" in desk.texts)
    assert desk.of(Edit) == []
    assert "new" not in desk.texts


def test_one_line_serves_every_workspace(slack: SlackServer, start: Start) -> None:
    slack.teams["xoxb-of-another-workspace"] = "T0000002"
    two = {"workspaces": {"T0000002": "TWO"}, "secrets": {"TWO": "xoxb-of-another-workspace"}}
    desk = Desk()
    first = start(desk, **two)
    slack.says("one", "D1", team="T0000002")
    # Acknowledged, too: else Slack brings it again.
    until(lambda: desk.texts == ["one"] and slack.socket.brought)
    first.stop()
    slack.writes("missed", "D1", team="T0000002")
    start(desk, **two)
    until(lambda: "missed" in desk.texts)
    assert {(one.chat, one.sender) for one in desk.events} == {("T0000002/D1", "T0000002/U42")}
