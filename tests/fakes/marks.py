"""Processes that can be told from all others: each sleeps for a number of seconds of its own."""

from __future__ import annotations

import secrets
import time
from pathlib import Path


def new() -> str:
    """Return how long a process of this test sleeps; nobody else sleeps as long."""
    return f"{10_000 + secrets.randbelow(80_000)}.{secrets.randbelow(10**9):09}"


def alive(mark: str) -> list[int]:
    """Return the sleeping processes with this mark."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0].endswith(b"sleep") and mark.encode() in words:
            found.append(int(folder.name))
    return found


def wait(mark: str, seconds: float = 30) -> None:
    """Wait until a process has it."""
    until = time.monotonic() + seconds
    while not alive(mark):
        assert time.monotonic() < until, "nothing was started"
        time.sleep(0.02)


def wait_gone(mark: str, seconds: float = 30) -> None:
    """Wait until no process has it."""
    until = time.monotonic() + seconds
    while alive(mark):
        assert time.monotonic() < until, "something is still running"
        time.sleep(0.02)
