"""Workers step back and web goes first: seen in processes of their own, since that stays so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_TELL = """
import os
from habakkuk.core.priority import give_way, go_first
{before}
{does}({niceness})
print(os.getpriority(os.PRIO_PROCESS, 0))
"""
_GROUP = "print(open('/proc/self/autogroup').read())"
needs_groups = pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="this kernel has no groups of sessions"
)


def _may_go_first() -> bool:
    asked = "import os; os.setpriority(os.PRIO_PROCESS, 0, -1)"
    return (
        subprocess.run([sys.executable, "-c", asked], check=False, capture_output=True).returncode
        == 0
    )


def told(
    before: str = "",
    after: str = "",
    niceness: int = 10,
    *,
    does: str = "give_way",
    leads: bool = True,
) -> list[str]:
    program = _TELL.format(before=before, does=does, niceness=niceness) + after
    ended = subprocess.run(
        [sys.executable, "-c", program],
        start_new_session=leads,
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


def test_a_process_steps_back() -> None:
    assert told() == ["10"]


def test_an_operator_can_say_that_nobody_does() -> None:
    assert told(niceness=0) == ["0"]


def test_who_stepped_back_further_stays_there() -> None:
    assert told("os.setpriority(os.PRIO_PROCESS, 0, 12)") == ["12"]


@needs_groups
def test_its_session_steps_back_as_a_whole() -> None:
    """Otherwise Linux gives every session the same, whatever its processes say (sched(7))."""
    assert told(after=_GROUP)[-2:] == ["nice", "10"]


@needs_groups
def test_a_session_of_somebody_else_stays_as_it_is() -> None:
    before = Path("/proc/self/autogroup").read_text()
    assert told(leads=False) == ["10"]
    assert Path("/proc/self/autogroup").read_text() == before


@needs_groups
@pytest.mark.skipif(not _may_go_first(), reason="only root may ask to go first, and not everywhere")
@pytest.mark.parametrize(("niceness", "group"), [(10, "-5"), (0, "0")])
def test_what_takes_in_goes_first_as_a_whole(niceness: int, group: str) -> None:
    assert told(after=_GROUP, niceness=niceness, does="go_first")[-2:] == ["nice", group]


@needs_groups
def test_who_may_not_go_first_works_all_the_same() -> None:
    """Whether it is root or not: it is left alone where it leads no session."""
    before = Path("/proc/self/autogroup").read_text()
    assert told(does="go_first", leads=False) == [str(os.getpriority(os.PRIO_PROCESS, 0))]
    assert Path("/proc/self/autogroup").read_text() == before
