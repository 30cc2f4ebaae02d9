"""Negative controls: each guard is taken out and its absence provoked; the checker must see it.

The product as it is goes through the same provocation and must pass. A checker that cannot fail
proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker, Verdict
from scripts.drills.clients import Patience, carry_out, post_chat
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.progress import Progress

_SHOWN = 3
_OUT, _IN = True, False  # the guard
_CALM_SECONDS = 1.0
_SLOW_CLAIM = """
    CREATE FUNCTION drill_slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END $$;
    CREATE TRIGGER drill_slow AFTER UPDATE ON jobs FOR EACH ROW
    WHEN (OLD.state = 'pending' AND NEW.state = 'running') EXECUTE FUNCTION drill_slow()
"""
_CLAIMING = """
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
"""


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


def _stale_claim(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - with the guard or without
    """Pause a worker before a call; let another take over and make it; let the first go on."""
    name = "no-guard" if mutant else "none"
    with World(Options(workers=0, keep=plan.keep)) as world:
        place = world.folder / "hold"
        place.mkdir()
        hold = {"DRILL_HOLD": f"tool.start.before={place}", "DRILL_MUTANT": name}
        first = world.start_worker("first", **hold)
        world.await_workers("first")
        ask = _ask("stale", '[[tool mark {"mark": "stale.1"}]]', (("mark", "stale.1"),))
        post_chat(world.api, ask)
        world.await_true((place / "held").exists, "the pause before the call", first)
        world.start_worker("second", DRILL_MUTANT=name)
        world.await_workers("second")

        def taken_over() -> bool:
            world.records.cut_presence(first.pid)
            return "stale.1" in world.effects()

        world.await_true(taken_over, "the second worker's call")
        (place / "go").touch()
        carry_out(world.api, ask, Patience(30))
        time.sleep(_CALM_SECONDS)  # what the first worker still does must show
        return Checker(world, [ask]).verdict()


def _two_of_a_key(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - with the index or without
    """Show a job while the claim of the next of its key is not yet committed.

    That is what the head-of-key test alone cannot see. The trigger only makes claims slow enough
    to meet; the claims are the product's own.
    """
    with World(Options(workers=0, keep=plan.keep)) as world:
        if mutant:
            world.records.execute("DROP INDEX jobs_one_running")
        world.records.execute(_SLOW_CLAIM)
        asks = [_ask(f"key-{n}", "[[tokens 20]] [[delay 0.05]]") for n in range(2)]
        for ask in asks:
            post_chat(world.api, ask)
        early, late = asks[0].turn, asks[1].turn
        world.records.execute("UPDATE jobs SET state = 'done' WHERE id = %s", late)
        world.records.execute("UPDATE jobs SET seq = DEFAULT WHERE id = %s", early)
        for name in ("first", "second"):
            world.start_worker(name)
        world.await_true(lambda: bool(world.records.rows(_CLAIMING)), "a claim")
        world.records.execute("UPDATE jobs SET state = 'pending' WHERE id = %s", late)
        world.records.execute("SELECT pg_notify('hab_wake', %s)", f"turns {late}")
        for ask in asks:
            carry_out(world.api, ask, Patience(30))
        return Checker(world, asks).verdict()


def _kill_after_answer(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - hasty or as it is
    """Web dies before the commit of every third message."""
    name = "hasty-answer" if mutant else "none"
    web = {"DRILL_MUTANT": name, "HABAKKUK_FAILPOINT": "admit.commit.before=#3"}
    with World(Options(workers=1, web=web, keep=plan.keep)) as world:
        asks = [_ask(f"hasty-{n}", "", room=f"hasty-{n}") for n in range(4)]
        for ask in asks:
            carry_out(world.api, ask, Patience(5 if mutant else 30))
        return Checker(world, asks).verdict()


def _ask(
    name: str, directives: str, tools: tuple[tuple[str, str], ...] = (), room: str = "room"
) -> Ask:
    return Ask(name, Surface.CHAT, f"{name} says hello {directives}".strip(), tools, room)


CONTROLS = (
    Control("no guard of the fence", _stale_claim),
    Control("no unique index on running keys", _two_of_a_key),
    Control("acknowledged before the commit", _kill_after_answer),
)
