"""Run one hook: in a process group of its own, with little in its environment, for a limited time.

It may use what the operator's own shell script may: it is the operator's, named in config.yaml.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.interrupt import Interrupt

_SHELL = "/bin/sh"
_CHUNK = 65_536
# What is kept of what a hook prints: a reason is a sentence.
_KEPT = 4_096
# How long a process that ended is not noticed at most.
_LOOK_SECONDS = 0.02
# What of the server's environment a hook gets (security-cases.md, row 25).
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TERM", "TZ")


@dataclass(frozen=True)
class Ran:
    """How a hook ended. `code` is None when it was killed for its time or could not start."""

    code: int | None
    output: str
    trouble: str = ""


def run(
    command: str,
    given: bytes,
    variables: Mapping[str, str],
    home: Path,
    seconds: float,
    interrupt: Interrupt | None = None,
) -> Ran:
    """Run a command with `given` as its input. An interrupt kills it.

    What it started and left in its process group is killed with it when its time is over.
    """
    try:
        process = _started(command, given, variables, home)
    except (OSError, ValueError) as error:
        return Ran(None, "", f"it could not be started: {error}")
    with process:
        watched = interrupt or Interrupt()
        with watched.freeing(lambda: _kill(process)):
            return _watched(process, seconds)


def _started(
    command: str, given: bytes, variables: Mapping[str, str], home: Path
) -> subprocess.Popen[bytes]:
    with tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        return subprocess.Popen(
            [_SHELL, "-c", command],
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=home,
            env=dict(variables),
            start_new_session=True,
        )


def _watched(process: subprocess.Popen[bytes], seconds: float) -> Ran:
    if process.stdout is None:
        raise AssertionError("its output is a pipe")
    output, kept = process.stdout.fileno(), bytearray()
    os.set_blocking(output, False)
    until = time.monotonic() + seconds
    while (code := process.poll()) is None:
        if time.monotonic() > until:
            _kill(process)
            process.wait()
            return Ran(None, _text(kept), f"it did not end within {seconds:g} s")
        _read(output, kept, _LOOK_SECONDS)
    # What it left behind may print for ever.
    while len(kept) < _KEPT and _read(output, kept, 0):
        pass
    return Ran(code, _text(kept))


def _read(output: int, kept: bytearray, seconds: float) -> bool:
    """Take what a hook has printed; False when there is nothing more at the moment."""
    # Not select: a worker may have more than 1,024 files open.
    poll = select.poll()
    poll.register(output, select.POLLIN)
    if not poll.poll(seconds * 1_000):
        return False
    chunk = os.read(output, _CHUNK)
    kept += chunk[: _KEPT - len(kept)]
    if not chunk:
        # It closed its output and goes on: waiting for the pipe would not wait at all.
        time.sleep(seconds)
    return bool(chunk)


def _text(kept: bytearray) -> str:
    return kept.decode("utf-8", "replace").strip()


def _kill(process: subprocess.Popen[bytes]) -> None:
    # Not once it is collected: the number may be another's by then.
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
