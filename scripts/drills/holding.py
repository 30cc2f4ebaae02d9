"""Let a process wait at a failpoint, as a pause of the machine would."""

from __future__ import annotations

import time
from pathlib import Path

from habakkuk.core.failpoints import Failpoints

_MOST_SECONDS = 30.0


def hold(point: str, folder: str) -> None:
    """Make the first pass of `point` write `held` into the folder and wait for `go` there."""
    held, go = Path(folder) / "held", Path(folder) / "go"
    hit = Failpoints.hit

    def hit_or_wait(self: Failpoints, name: str) -> None:
        hit(self, name)
        if name == point and not held.exists():
            held.touch()
            until = time.monotonic() + _MOST_SECONDS
            while not go.exists() and time.monotonic() < until:
                time.sleep(0.002)

    Failpoints.hit = hit_or_wait  # type: ignore[method-assign]  # a drill, in its own process
