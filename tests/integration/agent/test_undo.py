"""Undos and turns of other conversations in one workspace: never both at once, over crashes too."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import text as sql

from habakkuk.agent import snapshots
from habakkuk.agent.undo import store
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.db.engine import Database
from habakkuk.gateway.types import Admitted
from habakkuk.jobs.contract import Retry
from habakkuk.jobs.types import JobState
from habakkuk.ops.account import agent_user
from habakkuk.tools.checkpoints.shadow import Shadow
from tests.fakes.stack import Points, Stack, until
from tests.integration.agent.crashes import crashed
from tests.integration.agent.workspaces import results, undone, workspace, writes

_LATER = sql("UPDATE jobs SET run_at = now() + interval '1 hour' WHERE kind = 'undo'")
_NOW = sql("UPDATE jobs SET run_at = now() WHERE kind = 'undo'")
_BEGUN = sql("SELECT id FROM jobs WHERE kind = 'undo' AND payload ? 'begun'")


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root git needs the agents' user."""
    agent_user()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Return how often a turn was told that an undo has its workspace."""
    told: list[str] = []
    holds = store.holds

    def counted(database: Database, agent: str) -> bool:
        found = holds(database, agent)
        told.extend([agent] if found else [])
        return found

    monkeypatch.setattr(store, "holds", counted)
    return lambda: len(told)


def _changed_twice(stack: Stack) -> None:
    """Let the conversation have two turns that wrote x."""
    stack.start()
    for content in "12":
        stack.reply(stack.say(writes("x", content)))
    stack.stop()


def _left(stack: Stack, point: str) -> Admitted:
    """Say /undo and let its worker die at a point; nobody takes it over yet."""
    points = Points({point: 1})
    stack.start(points)
    admitted = stack.say("/undo")
    crashed(stack, points, point)
    stack.free_all()
    stack.container.database.run(_LATER)
    return admitted


def _taken_over(stack: Stack, admitted: Admitted) -> str:
    (job,) = stack.container.jobs.list(kind="undo")
    stack.container.database.run(_NOW)
    stack.container.wake.wake("turns", job.id)
    until(lambda: results(stack, admitted))
    (said,) = results(stack, admitted)
    return said.body


def _x(stack: Stack) -> str:
    return (workspace(stack) / "x").read_text()


def test_a_turn_that_began_meanwhile_keeps_an_undo_from_beginning(stack: Stack) -> None:
    _changed_twice(stack)
    stack.start(Points({"undo.begin.before": 1}, act=lambda: _begun_elsewhere(stack)))
    assert undone(stack) == (
        "Nothing was undone: a turn works in this workspace just now. /undo again when it has"
        " ended."
    )
    assert _x(stack) == "2"
    stack.say("/stop", chat="another")


def _begun_elsewhere(stack: Stack) -> None:
    before = len(stack.model.requests)
    stack.say("[[stall]] slow", chat="another")
    until(lambda: len(stack.model.requests) > before)


def test_a_turn_waits_with_its_change_until_the_undo_is_done(
    stack: Stack, asked: Callable[[], int]
) -> None:
    _changed_twice(stack)
    others: list[Admitted] = []

    def begin_elsewhere() -> None:
        others.append(stack.say(writes("y", "1"), chat="another"))
        until(lambda: asked() >= 2)

    points = Points({"undo.begin.after": 1}, act=begin_elsewhere)
    stack.start(points)
    undone(stack)
    assert "Wrote y" in stack.reply(others[0]).body
    assert (_x(stack), (workspace(stack) / "y").read_text()) == ("1", "1")
    assert points.passed.index("asked.done.after") < points.passed.index("tool.start.before")


def test_an_undo_that_was_killed_before_it_began_looks_again(stack: Stack) -> None:
    _changed_twice(stack)
    admitted = _left(stack, "undo.begin.before")
    stack.start()
    _begun_elsewhere(stack)
    assert _taken_over(stack, admitted).startswith("Nothing was undone: a turn works")
    assert _x(stack) == "2"
    stack.say("/stop", chat="another")


@pytest.mark.parametrize("point", ["undo.begin.after", "asked.done.after"])
def test_an_undo_that_was_killed_after_it_began_is_done_once_before_any_turn(
    stack: Stack, asked: Callable[[], int], point: str
) -> None:
    _changed_twice(stack)
    admitted = _left(stack, point)
    stack.start()
    other = stack.say(writes("x", "of the other"), chat="another")
    until(lambda: asked() >= 2)
    assert _x(stack) in {"1", "2"}
    assert " x | 2 +-" in _taken_over(stack, admitted)
    stack.reply(other)
    assert _x(stack) == "of the other"
    undone(stack, 2)
    # It goes on below what was undone once.
    assert not (workspace(stack) / "x").exists()


def test_an_undo_that_was_killed_half_way_is_done_by_the_next_worker(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came is gone already, what was there is not yet back."""
    stack.start()
    stack.reply(stack.say(writes("x", "1")))
    stack.reply(stack.say(writes("x", "2") + writes("y", "2")))
    died: list[str] = []

    def die(_: Shadow, tree: str, __: object) -> None:
        died.append(tree)
        raise Interrupted(Reason.LEASE_LOST)

    with monkeypatch.context() as dying:
        dying.setattr(Shadow, "write_out", die)
        admitted = stack.say("/undo")
        until(lambda: died)
        stack.stop()
    assert (_x(stack), (workspace(stack) / "y").exists()) == ("2", False)
    stack.free_all()
    stack.start()
    said = _taken_over(stack, admitted)
    assert "2 files changed" in said
    assert (_x(stack), (workspace(stack) / "y").exists()) == ("1", False)


def test_a_turn_does_not_wait_for_ever(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "UNDO_SECONDS", 0.0)
    _changed_twice(stack)
    _left(stack, "undo.begin.after")
    stack.start()
    reply = stack.reply(stack.say(writes("y", "1"), chat="another"))
    assert "write_file was not run: changes in this workspace are being taken back" in reply.body
    assert not (workspace(stack) / "y").exists()


def test_a_turn_that_only_reads_waits_for_no_undo(stack: Stack, asked: Callable[[], int]) -> None:
    _changed_twice(stack)
    _left(stack, "undo.begin.after")
    stack.start()
    call = '[[tool read_file {"path": "x"}]]'
    assert "2" in stack.reply(stack.say(call, chat="another")).body
    assert asked() == 0


def test_one_that_failed_and_is_tried_again_looks_again(stack: Stack) -> None:
    _changed_twice(stack)
    _left(stack, "undo.begin.after")
    (row,) = stack.container.database.run(_BEGUN)
    stack.container.database.run(sql("UPDATE jobs SET state = 'failed' WHERE kind = 'undo'"))
    with stack.container.database.transaction() as work:
        assert stack.container.jobs.retry(work, row.id)
    assert list(stack.container.database.run(_BEGUN)) == []


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("undo.begin.before", "Nothing was undone: no more."),
        ("undo.begin.after", "The undo was cut short: no more. A part of it may be done;"),
    ],
)
def test_an_end_before_its_time_says_how_much_of_it_may_be_done(
    stack: Stack, point: str, said: str
) -> None:
    _changed_twice(stack)
    admitted = _left(stack, point)
    (job,) = stack.container.jobs.list(kind="undo")
    with stack.container.database.transaction() as work:
        assert stack.container.jobs.cancel(work, job.id, "no more") is JobState.CANCELLED
    (row,) = results(stack, admitted)
    assert row.body.startswith(said)


def test_one_that_fails_on_the_way_says_that_a_part_may_be_done(stack: Stack) -> None:
    _changed_twice(stack)

    def break_down() -> None:
        raise Retry("the disk is full", fatal=True)

    stack.start(Points({"undo.begin.after": 1}, act=break_down))
    assert undone(stack).startswith("The undo was cut short: Retry: the disk is full. A part")
