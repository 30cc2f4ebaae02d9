"""`habakkuk processes`: agents' commands in the background, for the operator."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from habakkuk.ops.account import agent_user
from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run
from tests.integration.processes.keeping import Keeping


@pytest.fixture
def keeping(stack: Stack) -> Iterator[Keeping]:
    agent_user()
    made = Keeping(stack)
    made.start()
    yield made
    made.close()


def test_they_are_listed_read_and_ended(keeping: Keeping, run: Run) -> None:
    process = keeping.run("echo 'one\x1b[31m'; sleep 600")
    keeping.until_printed(process, b"one")
    listed = run("processes", "list")
    assert listed.exit_code == 0
    assert process in listed.stdout
    assert "habakkuk" in listed.stdout
    assert "\x1b" not in listed.stdout
    assert "runs, for " in listed.stdout
    assert run("processes", "output", process).stdout_bytes == b"one\x1b[31m\n"
    (told,) = json.loads(run("processes", "list", "-o", "json").stdout)["processes"]
    assert (told["id"], told["state"], told["agent"]) == (process, "running", "habakkuk")
    ended = run("processes", "kill", process)
    assert ended.exit_code == 0
    assert ended.stdout.startswith(f"{process} was killed after ")
    assert "by the operator" in ended.stdout
    assert run("processes", "list", "--running").stdout == "There are no background processes.\n"


def test_an_unknown_one_is_named(stack: Stack, run: Run) -> None:
    for action in ("output", "kill"):
        result = run("processes", action, "p_none")
        assert result.exit_code == 1
        assert "'p_none'" in result.stderr


def test_all_that_is_kept_can_be_read(keeping: Keeping, run: Run) -> None:
    process = keeping.run("seq 1 300000")
    keeping.ended(process)
    whole = "".join(f"{number}\n" for number in range(1, 300_001)).encode()
    assert run("processes", "output", process, "--all").stdout_bytes == whole
    assert run("processes", "output", process).stdout_bytes == whole[-20_000:]


def test_status_says_how_many_run_and_whether_they_are_kept(keeping: Keeping, run: Run) -> None:
    keeping.run("sleep 600")
    assert "Commands  1 in the background\n" in run("status").stdout
    assert json.loads(run("status", "-o", "json").stdout)["background"] == {
        "kept": True,
        "running": 1,
    }
    keeping.stop()
    assert "the service that keeps them is not there" in run("status").stdout
