"""Row 39: one call that gives, takes or starts without end."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

from habakkuk.tools.budget import RESULT_BUDGET, STEP_BUDGET, fit
from habakkuk.tools.contract import ToolOutput
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import call, context

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


def _keep(text: str, *, outside: bool) -> str:
    return "handle"


def _commands() -> list[str]:
    listed = subprocess.run(["ps", "-eo", "args="], capture_output=True, text=True, check=True)
    return listed.stdout.splitlines()
