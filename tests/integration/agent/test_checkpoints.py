"""Turns and their checkpoints: before the first call that may change files, once, over crashes."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.ops.account import agent_user
from habakkuk.tools.checkpoints.types import Checkpoint, Kind
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Points, Stack, until
from tests.integration.agent.crashes import crashed, restart
from tests.integration.agent.workspaces import notices, results, undone, workspace, writes


@pytest.fixture(autouse=True, scope="session")
def _agent_user() -> None:
    """As root git needs the agents' user."""
    agent_user()


def kept(stack: Stack, agent: str = "habakkuk") -> list[Checkpoint]:
    return stack.container.checkpoints.all(agent)


_ADDED = "*** Begin Patch\\n*** Add File: y\\n+y\\n*** End Patch"
PATCHES = f'[[tool apply_patch {{"patch": "{_ADDED}"}}]]'


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (writes("x", "1"), 1),
        ('[[tool exec {"command": "true"}]]', 1),
        (PATCHES, 1),
        ('[[tool edit_file {"path": "f", "old": "a", "new": "b"}]]', 1),
        (writes("x", "1") + writes("y", "1") + '[[tool exec {"command": "true"}]]', 1),
        (writes("x", "1") + "[[next]]" + writes("x", "2"), 1),
        ('[[tool read_file {"path": "f"}]]', 0),
        ('[[tool search_files {"pattern": "f"}]]', 0),
        (writes("../x", "1"), 0),
        ('[[tool write_file {"path": "x"}]]', 0),
        ("nothing", 0),
    ],
)
def test_a_turn_that_may_change_files_has_one(stack: Stack, call: str, count: int) -> None:
    stack.start()
    stack.reply(stack.say(f"{call} please do"))
    found = kept(stack)
    assert len(found) == count
    if found:
        assert found[0].label.kind is Kind.TURN
        assert "please do" in found[0].label.request


@pytest.mark.parametrize("point", ["tool.start.before", "tool.start.after"])
def test_a_crash_makes_no_second_one(stack: Stack, point: str) -> None:
    """And the first holds what was there before the turn, whatever the crashed run has done."""
    workspace(stack).mkdir(parents=True)
    (workspace(stack) / "x").write_text("before")
    points = Points({point: 1})
    stack.start(points)
    admitted = stack.say(writes("x", "1") + "[[next]]" + writes("x", "2"))
    crashed(stack, points, point)
    assert len(kept(stack)) == 1
    (workspace(stack) / "x").write_text("half")
    restart(stack, admitted)
    stack.reply(admitted)
    assert len(kept(stack)) == 1
    undone(stack)
    assert (workspace(stack) / "x").read_text() == "before"


def test_undo_walks_back_and_says_what_changed(stack: Stack) -> None:
    stack.start()
    for number in "123":
        stack.reply(stack.say(writes("x", number)))
    said = undone(stack)
    assert (workspace(stack) / "x").read_text() == "2"
    assert " x | 2 +-" in said
    undone(stack, 2)
    undone(stack, 3)
    assert not (workspace(stack) / "x").exists()
    assert undone(stack, 4) == (
        "There is nothing to undo: no turn of this conversation changed the workspace."
    )


def test_undo_after_a_new_session_is_still_the_conversations(stack: Stack) -> None:
    stack.start()
    stack.reply(stack.say(writes("x", "1")))
    stack.say("/new")
    undone(stack)
    assert not (workspace(stack) / "x").exists()


def test_an_undo_that_was_killed_before_it_was_recorded_is_one(stack: Stack) -> None:
    stack.start()
    for number in "12":
        stack.reply(stack.say(writes("x", number)))
    stack.stop()
    points = Points({"asked.done.after": 1})
    stack.start(points)
    admitted = stack.say("/undo")
    crashed(stack, points, "asked.done.after")
    assert (workspace(stack) / "x").read_text() == "1"
    assert results(stack, admitted) == []
    stack.free_all()
    stack.start()
    until(lambda: results(stack, admitted))
    assert (workspace(stack) / "x").read_text() == "1"
    assert " x | 2 +-" in results(stack, admitted)[0].body


def test_undo_refuses_while_a_turn_runs(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[wait 30]] slow")
    until(lambda: stack.model.requests)
    stack.say("/undo")
    assert [row.body for row in notices(stack, admitted)] == [
        "A turn is running or next here; /stop it first, or wait for its end."
    ]
    elsewhere = stack.say("/undo", chat="another")
    assert [row.body for row in notices(stack, elsewhere)] == [
        "A turn of another conversation works in this workspace; try again when it ended."
    ]
    stack.say("/stop")
    stack.ended(admitted)


def test_a_checkpoint_that_fails_stops_no_turn_and_is_told(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_: None)
    stack.start()
    reply = stack.reply(stack.say(writes("x", "1")))
    assert "Wrote x" in reply.body
    assert "no git on this machine" in str(stack.container.checkpoints.problem("habakkuk"))
    assert undone(stack).startswith("Nothing was undone: there is no git on this machine")


def test_there_are_none_where_none_are_wanted(
    home: Path, database_url: str, redis_url: str, model: ModelServer
) -> None:
    without = "  plain: {model: mine/fake-model, permissions: full, checkpoints: false}"
    stack = Stack(home, database_url, redis_url, model, more=without)
    stack.start()
    admitted = stack.say(writes("x", "1"), agent="plain")
    stack.reply(admitted)
    assert kept(stack, "plain") == []
    assert not (home / "checkpoints").exists()
    stack.say("/undo", agent="plain")
    assert notices(stack, admitted)[-1].body == (
        "There is nothing to go back to: plain has `checkpoints: false`."
    )
    stack.close()
