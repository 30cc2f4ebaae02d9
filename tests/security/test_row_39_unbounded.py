"""Row 39: one call that gives, takes or starts without end."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from habakkuk.core.config.schema import CommandLimits
from habakkuk.tools.budget import RESULT_BUDGET, STEP_BUDGET, fit
from habakkuk.tools.commands import Commands
from habakkuk.tools.contract import ToolContext, ToolOutput
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import PLAIN, call, context, services

TOOLS = ToolRegistry().of(["core"])
NOTE = 300


def test_output_without_end_takes_bounded_memory(tmp_path: Path) -> None:
    """Half a gigabyte on both streams; what is kept of each is two megabytes."""
    command = "head -c 250000000 /dev/zero; head -c 250000000 /dev/zero >&2"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    output = call(TOOLS["exec"], context(tmp_path / "w"), command=command)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert "[exit code 0]" in output.text
    assert len(output.text) < 5_000_000
    assert grown < 100_000  # KB


def test_a_hundred_calls_of_one_step_share_its_budget() -> None:
    outputs = fit([ToolOutput("x" * RESULT_BUDGET)] * 100, _keep)
    assert sum(len(output.text) for output in outputs) <= STEP_BUDGET + 100 * NOTE


def test_processes_that_breed_end_with_their_call(tmp_path: Path) -> None:
    mark = f"30.{os.getpid()}"
    command = f"breed() {{ (sleep {mark}; true) & }}; for i in $(seq 100); do breed; done"
    command += "; until [ $(pgrep -cf 'sleep 30') -ge 100 ]; do :; done; jobs -p | wc -l"
    output = call(TOOLS["exec"], context(tmp_path / "w"), command=command)
    assert output.text == "100\n[exit code 0]"
    assert [line for line in _commands() if mark in line] == []


def _limited(tmp_path: Path, **limits: object) -> ToolContext:
    commands = Commands(PLAIN, tmp_path, limits=CommandLimits.model_validate(limits))
    return context(tmp_path / "w", services(tmp_path, commands=commands))


def test_a_file_ends_at_its_limit(tmp_path: Path) -> None:
    where = _limited(tmp_path, file_size="1MB")
    output = call(TOOLS["exec"], where, command="head -c 3000000 /dev/zero > big; wc -c < big")
    assert int(output.text.splitlines()[0]) <= 1_000_000


def test_a_process_ends_at_its_memory(tmp_path: Path) -> None:
    command = "set -o pipefail; head -c 400000000 /dev/zero | tail -c 390000000 | wc -c"
    output = call(TOOLS["exec"], _limited(tmp_path, memory="100MB"), command=command)
    assert output.is_error
    assert output.text.startswith("0\n")


@pytest.mark.skipif(os.geteuid() != 0, reason="this user's other processes count too")
def test_a_command_breeds_no_more_than_its_limit(tmp_path: Path) -> None:
    where = _limited(tmp_path, processes=16)
    breed = "for i in $(seq 60); do sleep 30 & done; echo all"
    output = call(TOOLS["exec"], where, command=f"/bin/sh -c '{breed}'")
    assert output.is_error
    # The limit counts all of that user's processes: beside other tests not even the first may fit.
    assert "fork" in output.text.lower() or "temporarily unavailable" in output.text


def test_limits_cannot_be_raised_by_a_command(tmp_path: Path) -> None:
    where = _limited(tmp_path, file_size="1MB", memory="100MB")
    output = call(TOOLS["exec"], where, command="ulimit -f unlimited || ulimit -d unlimited")
    assert output.is_error


def test_without_limits_the_systems_own_hold(tmp_path: Path) -> None:
    where = _limited(tmp_path, processes=None, file_size=None, memory=None)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    shown = "unlimited" if hard == resource.RLIM_INFINITY else str(hard // 1024)
    assert call(TOOLS["exec"], where, command="ulimit -Hf").text.splitlines()[0] == shown


def _keep(text: str, *, outside: bool) -> str:
    return "handle"


def _commands() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()
