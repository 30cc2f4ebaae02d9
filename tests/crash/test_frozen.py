"""A worker that is stopped for longer than its lease, with the product's own thirty seconds."""

from __future__ import annotations

import signal

import pytest

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.clients import Patience, carry_out, post_chat
from scripts.drills.world import World

PATIENCE_SECONDS = 120


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_frozen_worker_loses_its_turn_and_writes_nothing_when_it_wakes_up(
    bare_world: World,
) -> None:
    """Its presence lock is held all the time: only the end of the lease lets another go on."""
    first = bare_world.start_worker("first")
    bare_world.await_workers("first")
    ask, later = (_ask(f"frozen-{number}") for number in (1, 2))
    post_chat(bare_world.api, ask)
    bare_world.await_true(lambda: bool(bare_world.model_calls("frozen-1 ")), "the model's request")
    first.signal(signal.SIGSTOP)
    second = bare_world.start_worker("second")
    carry_out(bare_world.api, ask, Patience(PATIENCE_SECONDS))
    first.signal(signal.SIGCONT)
    second.kill()
    # The same stream again: by its end the first one has long tried to end the turn that it lost.
    carry_out(bare_world.api, later, Patience(PATIENCE_SECONDS))
    verdict = Checker(bare_world, [ask, later]).verdict()
    assert verdict.ok, verdict.details
    assert len(bare_world.model_calls("frozen-1 ")) == 2


def _ask(name: str) -> Ask:
    return Ask(name, Surface.CHAT, f"{name} says hello [[tokens 40]] [[delay 0.1]]", (), name)
