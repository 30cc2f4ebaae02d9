"""The failpoints of the product, found in its sources, and which process they are armed in."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from habakkuk.ops.processes import ROOT

_HIT = re.compile(r'\.hit\("([a-z_.]+)"\)')
_WEB = "admit."
# Files, and jobs that end without a turn's own end: not in the drill's load.
_ELSEWHERE = ("blob.", "job.finish.")
# A turn of one small answer passes `model.text` a dozen times, the others once or twice.
_OFTEN = {"model.text": 80, "tool.run.after": 9, "tool.record.after": 9}
_SELDOM = {
    "approval.ask.before": 3,
    "approval.ask.after": 3,
    "job.park.after": 3,
    "job.takeover.after": 1,
    "job.release.before": 1,
}
_USUAL = 8
# A worker passes it only when it gives its jobs back: it is told to end, not killed.
ON_SIGTERM = "job.release.before"


def all_points() -> list[str]:
    """Return every name in the sources, sorted."""
    sources = sorted((ROOT / "habakkuk").rglob("*.py"))
    return sorted({name for path in sources for name in _HIT.findall(path.read_text("utf-8"))})


def worker_points() -> list[str]:
    """Return those that an answered turn passes in a worker."""
    return [name for name in all_points() if not name.startswith((_WEB, *_ELSEWHERE))]


def web_points() -> list[str]:
    """Return those that web passes."""
    return [name for name in all_points() if name.startswith(_WEB)]


def specs(rng: random.Random) -> Iterator[tuple[str, str]]:
    """Yield (point, spec) for one worker after the other, each point in its turn, for ever."""
    while True:
        points = worker_points()
        rng.shuffle(points)
        for point in points:
            most = _SELDOM.get(point) or _OFTEN.get(point) or _USUAL
            yield point, f"{point}=#{rng.randint(1, most)}"
