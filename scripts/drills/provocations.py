"""How the absence of each guard is provoked.

Every function runs the product and returns what the checker finds; `mutant`: the guard is out.
"""

from __future__ import annotations

import signal
import time

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker, Verdict
from scripts.drills.clients import Patience, carry_out, post_chat
from scripts.drills.report import Plan
from scripts.drills.world import Options, World

_CALM_SECONDS = 1.0
_LEASE = 3.0
# Far longer than anything takes that goes on at all.
_STALLED_SECONDS = 15.0
_SLOW_CHANGE = """
    CREATE FUNCTION drill_slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.8); RETURN NULL; END $$;
    CREATE TRIGGER drill_slow AFTER UPDATE ON jobs FOR EACH ROW
    WHEN (OLD.state = '{was}' AND NEW.state = '{becomes}') EXECUTE FUNCTION drill_slow()
"""
_SLEEPING = """
    SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'
"""


def stale_claim(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - with the guard or without
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


def two_of_a_key(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - with the index or without
    """Show a job while the claim of the next of its key is not yet committed.

    That is what the head-of-key test alone cannot see. The trigger only makes claims slow enough
    to meet; the claims are the product's own.
    """
    with World(Options(workers=0, keep=plan.keep)) as world:
        if mutant:
            world.records.execute("DROP INDEX jobs_one_running")
        world.records.execute(_SLOW_CHANGE.format(was="pending", becomes="running"))
        asks = [_ask(f"key-{n}", "[[tokens 20]] [[delay 0.05]]") for n in range(2)]
        for ask in asks:
            post_chat(world.api, ask)
        early, late = asks[0].turn, asks[1].turn
        world.records.execute("UPDATE jobs SET state = 'done' WHERE id = %s", late)
        world.records.execute("UPDATE jobs SET seq = DEFAULT WHERE id = %s", early)
        for name in ("first", "second"):
            world.start_worker(name)
        world.await_true(lambda: bool(world.records.rows(_SLEEPING)), "a claim")
        world.records.execute("UPDATE jobs SET state = 'pending' WHERE id = %s", late)
        world.records.execute("SELECT pg_notify('hab_wake', %s)", f"turns {late}")
        for ask in asks:
            carry_out(world.api, ask, Patience(30))
        return Checker(world, asks).verdict()


def kill_after_answer(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - hasty or as it is
    """Web dies before the commit of every third message."""
    name = "hasty-answer" if mutant else "none"
    web = {"DRILL_MUTANT": name, "HABAKKUK_FAILPOINT": "admit.commit.before=#3"}
    with World(Options(workers=1, web=web, keep=plan.keep)) as world:
        asks = [_ask(f"hasty-{n}", "", room=f"hasty-{n}") for n in range(4)]
        for ask in asks:
            carry_out(world.api, ask, Patience(5 if mutant else 30))
        return Checker(world, asks).verdict()


def repeated_step(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - with the key or without
    """Let two workers write the same step, with no guard that stops the second.

    The guard is out in both runs: it stands before the unique key, which is what is tried here.
    """
    with World(Options(workers=0, keep=plan.keep)) as world:
        if mutant:
            world.records.execute("ALTER TABLE messages DROP CONSTRAINT messages_job_id_step_key")
        place = world.folder / "hold"
        place.mkdir()
        hold = {"DRILL_HOLD": f"turn.append.before={place}", "DRILL_MUTANT": "no-guard"}
        first = world.start_worker("first", **hold)
        world.await_workers("first")
        ask = _ask("step", '[[tool peek {"mark": "step.1"}]]', (("peek", "step.1"),))
        post_chat(world.api, ask)
        world.await_true((place / "held").exists, "the pause before the step", first)
        world.start_worker("second", DRILL_MUTANT="no-guard")
        world.await_workers("second")

        def answered() -> bool:
            world.records.cut_presence(first.pid)
            return world.records.open_jobs() == 0

        world.await_true(answered, "the second worker's answer")
        (place / "go").touch()
        carry_out(world.api, ask, Patience(30))
        time.sleep(_CALM_SECONDS)  # what the first worker still does must show
        return Checker(world, [ask]).verdict()


def early_wake_up(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - early or as it is
    """Send one message while the sweep, which would hide a lost wake-up, hardly ever comes."""
    web = {"DRILL_MUTANT": "early-wake" if mutant else "none"}
    worker = {"DRILL_MUTANT": "rare-sweep"}
    with World(Options(workers=1, web=web, worker=worker, keep=plan.keep)) as world:
        ask = _ask("early", "")
        carry_out(world.api, ask, Patience(_STALLED_SECONDS))
        return Checker(world, [ask]).verdict()


def answer_while_parking(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - locked or not
    """Answer a question while its turn is about to park and has not committed that."""
    web = {"DRILL_MUTANT": "unlocked-resolve" if mutant else "none"}
    with World(Options(workers=1, web=web, keep=plan.keep)) as world:
        change = _SLOW_CHANGE.format(was="running", becomes="waiting")
        world.records.execute(change)
        ask = _ask("park", '[[tool mark {"mark": "park.1"}]]', (("mark", "park.1"),))
        ask.agent = "careful"
        post_chat(world.api, ask)
        world.await_true(lambda: bool(world.records.rows(_SLEEPING)), "the turn's parking")
        (question,) = world.api.get("/api/approvals").body["approvals"]
        world.api.post(f"/api/approvals/{question['id']}", {"answer": "once"})
        carry_out(world.api, ask, Patience(_STALLED_SECONDS))
        return Checker(world, [ask]).verdict()


def frozen_sweeper(plan: Plan, mutant: bool) -> Verdict:  # noqa: FBT001 - session lock or not
    """Freeze the worker that sweeps while it runs a turn; another must take the turn over."""
    worker = {"DRILL_MUTANT": "session-sweep" if mutant else "none"}
    with World(Options(workers=1, worker=worker, lease=_LEASE, keep=plan.keep)) as world:
        (first,) = world.workers.values()
        ask = _ask("sweep", "[[tokens 40]] [[delay 0.1]]")
        post_chat(world.api, ask)
        world.await_true(lambda: bool(world.model_calls(ask.id + " ")), "the model's request")
        world.start_worker("second")
        world.await_workers("second")
        first.signal(signal.SIGSTOP)
        carry_out(world.api, ask, Patience(_STALLED_SECONDS))
        first.kill()
        return Checker(world, [ask]).verdict()


def _ask(
    name: str, directives: str, tools: tuple[tuple[str, str], ...] = (), room: str = "room"
) -> Ask:
    return Ask(name, Surface.CHAT, f"{name} says hello {directives}".strip(), tools, room)
