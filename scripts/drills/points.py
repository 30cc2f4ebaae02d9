"""The failpoints of the product, found in its sources, and which process they are armed in."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator

from habakkuk.ops.processes import ROOT

_HITS = frozenset({"hit", "_hit"})
_WEB = "admit."
# Files, what is said in their place, messages of progress, jobs that end without a turn's own end,
# background processes, patches, what somebody asked for beside turns, undo: not its load.
_CALLED_FOR = ("asked.", "undo.", "turn.pause.", "turn.follow_up.")
ELSEWHERE = (
    "blob.",
    "files.",
    "delivery.words.",
    "draft.",
    "job.finish.",
    "process.",
    "patch.",
    *_CALLED_FOR,
)
# A turn of one small answer passes `model.text` a dozen times, the others once or twice.
_OFTEN = {"model.text": 80, "tool.run.after": 9, "tool.record.after": 9}
_SELDOM = {
    "question.ask.before": 3,
    "question.ask.after": 3,
    "job.park.after": 3,
    "job.takeover.after": 1,
    "job.release.before": 1,
    "compaction.write.before": 2,
    "compaction.write.after": 2,
    "delivery.plan.after": 4,
    "delivery.end.before": 4,
    "delivery.end.after": 4,
}
_USUAL = 8
# A worker passes it only when it gives its jobs back: it is told to end, not killed.
ON_SIGTERM = "job.release.before"


def all_points() -> list[str]:
    """Return every name in the sources, sorted."""
    sources = sorted((ROOT / "habakkuk").rglob("*.py"))
    trees = (ast.parse(path.read_bytes()) for path in sources)
    return sorted({name for tree in trees for node in ast.walk(tree) for name in _named(node)})


def _named(node: ast.AST) -> Iterator[str]:
    """Yield the point that a call passes; the name must stand there as it is."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr in _HITS and len(node.args) == 1:
        (name,) = node.args
        if isinstance(name, ast.Constant) and isinstance(name.value, str):
            yield name.value


def worker_points() -> list[str]:
    """Return those that an answered turn passes in a worker."""
    return [name for name in all_points() if not name.startswith((_WEB, *ELSEWHERE))]


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
