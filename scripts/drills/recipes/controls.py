"""Negative controls: each guard is taken out and its absence provoked; the checker must see it.

The product as it is goes through the same provocation and must pass. A checker that cannot fail
proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scripts.drills import provocations
from scripts.drills.checker import Verdict
from scripts.drills.report import Plan, Result
from scripts.harness.progress import Progress

_SHOWN = 3
_OUT, _IN = True, False  # the guard


@dataclass(frozen=True)
class Control:
    """One guard: how to provoke its absence, `mutant` saying whether it is taken out."""

    name: str
    provoke: Callable[[Plan, bool], Verdict]


def run(plan: Plan, progress: Progress) -> Result:
    """Run every control with and without its guard."""
    figures: dict[str, object] = {}
    lines: list[str] = []
    ok = True
    for control in CONTROLS:
        progress.say(f"{control.name}: taken out", hurry=True)
        broken = control.provoke(plan, _OUT)
        progress.say(f"{control.name}: in place", hurry=True)
        whole = control.provoke(plan, _IN)
        caught = not broken.ok
        ok = ok and caught and whole.ok
        figures[control.name] = {
            "caught": caught,
            "by": broken.details[:_SHOWN],
            "with_guard_ok": whole.ok,
            "with_guard": whole.details[:_SHOWN],
        }
        seen = broken.details[0] if broken.details else "nothing"
        held = "passes" if whole.ok else f"FAILS: {whole.details[:_SHOWN]}"
        lines.append(f"    {control.name}: {'caught' if caught else 'MISSED'} ({seen})")
        lines.append(f"    {control.name}, as it is: {held}")
    return Result("controls", ok, figures, lines)


CONTROLS = (
    Control("no guard of the fence", provocations.stale_claim),
    Control("no unique index on running keys", provocations.two_of_a_key),
    Control("no unique step", provocations.repeated_step),
    Control("acknowledged before the commit", provocations.kill_after_answer),
    Control("woken before the commit", provocations.early_wake_up),
    Control("resolved without the lock of the job", provocations.answer_while_parking),
    Control("sweep under a session lock", provocations.frozen_sweeper),
)
