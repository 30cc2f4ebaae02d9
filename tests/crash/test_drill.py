"""The drill itself, short: many kills, and Redis restarted under running turns."""

from __future__ import annotations

import random

import pytest

from scripts.drills.checker import Checker
from scripts.drills.load import Load, Mix
from scripts.drills.recipes import controls, kills
from scripts.drills.recipes.redis_away import restart_cycles
from scripts.drills.report import Plan
from scripts.drills.world import Options, World
from scripts.harness.progress import Progress

KILLS = 20
# The drill has a bar of ten; here other tests take the processors.
SECONDS_UNTIL_CONSUMPTION = 30


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_kills_at_failpoints_and_at_random_lose_and_double_nothing() -> None:
    result = kills.run(Plan(cycles=1, kills=KILLS), Progress(quiet=True))
    detail = result.figures["detail"]
    assert detail["checks"]["ok"], detail["checks"]
    assert detail["unexpected_ends"] == []
    assert result.figures["kills"] >= KILLS
    assert result.figures["messages"] > 0


@pytest.mark.slow
def test_workers_consume_again_after_redis_was_killed_and_after_it_was_ended() -> None:
    with World(Options(forked=True)) as world:
        load = Load(world.api, random.Random(1), "redis", Mix(chat=4, whole=1, stream=1))
        load.start()
        world.await_true(lambda: load.answered > 0, "the first answer")
        before = {name: program.pid for name, program in world.workers.items()}
        cycles = restart_cycles(world, Progress(quiet=True), 2)
        asks = load.stop()
        for cycle in cycles:
            assert max(cycle["consumes_again_s"].values()) < SECONDS_UNTIL_CONSUMPTION
        assert {name: world.workers[name].code for name in before} == dict.fromkeys(before)
        verdict = Checker(world, asks).verdict()
        assert verdict.ok, verdict.details


@pytest.mark.slow
def test_the_checker_sees_a_missing_guard() -> None:
    verdict = controls.CONTROLS[0].provoke(Plan(), True)
    assert verdict.effects_twice == 1
