"""Commands of hooks step back with workers, whoever starts them: seen from a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_START = """
import os, sys
from pathlib import Path
from habakkuk.core.config.schema import HookConfig
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.priority import give_way
from habakkuk.hooks.service import Hooks
from habakkuk.hooks.types import Happening, HookEvent
give_way(int(sys.argv[1]))
hook = HookConfig(event="tool_before", command=sys.argv[3])
made = Hooks([hook], {"PATH": os.environ["PATH"]}, Path(sys.argv[4]), niceness=int(sys.argv[2]))
assert made.ask(Happening(HookEvent.TOOL_BEFORE, "exec", {}), Interrupt()) is None
"""
_NICENESS = "$(nice)"
_GROUP = "$(sed 's/.* //' /proc/self/autogroup)"
needs_groups = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel has no groups of sessions"
)


def told(tmp_path: Path, looked: str, wanted: int, *, worker: int, hooks: int) -> int:
    """Start a hook from what steps back so far, and return what it sees in the end."""
    # Its starter may say only afterwards how far it steps back.
    script = (
        f"for _ in $(seq 30); do [ {looked} = {wanted} ] && break; sleep 0.1; done;"
        f" echo {looked} > told"
    )
    subprocess.run(
        [sys.executable, "-c", _START, str(worker), str(hooks), script, str(tmp_path)],
        start_new_session=True,
        check=True,
    )
    return int((tmp_path / "told").read_text())


@needs_groups
def test_its_session_steps_back_with_the_worker(tmp_path: Path) -> None:
    assert told(tmp_path, _GROUP, 10, worker=10, hooks=10) == 10


@needs_groups
def test_what_web_starts_steps_back_as_a_whole(tmp_path: Path) -> None:
    """Web itself does not, and what it took in has happened already when hooks hear of it."""
    assert told(tmp_path, _GROUP, 10, worker=0, hooks=10) == 10


def test_what_web_starts_goes_after_others(tmp_path: Path) -> None:
    assert told(tmp_path, _NICENESS, 10, worker=0, hooks=10) == 10


def test_an_operator_can_say_that_nobody_steps_back(tmp_path: Path) -> None:
    assert told(tmp_path, _NICENESS, 0, worker=0, hooks=0) == 0
