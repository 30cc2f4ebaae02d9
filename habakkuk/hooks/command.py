"""Run one hook: in a process group of its own, with little in its environment, for a limited time.

It may use what the operator's own shell script may: it is the operator's, named in config.yaml.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core import programs
from habakkuk.core.interrupt import Interrupt

_SHELL = "/bin/sh"
# What is kept of what a hook prints: a reason is a sentence.
_KEPT = 4_096
# What of the server's environment a hook gets (security-cases.md, row 25).
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ")


@dataclass(frozen=True)
class Ran:
    """How a hook ended. `code` is None when it was killed for its time or could not start."""

    code: int | None
    output: str
    trouble: str = ""


def program(
    command: str, variables: Mapping[str, str], home: Path, niceness: int
) -> programs.Program:
    """Return what runs a command in `home`, with a niceness that is this at least."""
    return programs.Program([_SHELL, "-c", command], variables, home, niceness=niceness)


def run(
    wanted: programs.Program, given: bytes, seconds: float, interrupt: Interrupt | None = None
) -> Ran:
    """Run it with `given` as its input. Raises Interrupted, when it is dead already.

    What it started and left in its process group is killed with it when its time is over.
    """
    # It may print as much as it likes.
    bounds = programs.Bounds(seconds, _KEPT, held=False)
    try:
        done = programs.run(wanted, bounds, interrupt or Interrupt(), given)
    except (OSError, ValueError) as error:
        return Ran(None, "", f"it could not be started: {error}")
    output = done.output.decode("utf-8", "replace").strip()
    if done.late:
        return Ran(None, output, f"it did not end within {seconds:g} s")
    return Ran(done.code, output)
