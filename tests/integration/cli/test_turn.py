"""`habakkuk turn`: a running turn guided, paused, resumed and stopped from a shell."""

from __future__ import annotations

from habakkuk.conversations.types import Outcome
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Stack, until
from tests.integration.cli.conftest import Run

WORK = '[[tool look {"seconds": 2.5}]] [[next]] [[tool look {"seconds": 20}]] work'


def test_a_turn_is_paused_guided_resumed_and_stopped(worker: Stack, run: Run) -> None:
    admitted = worker.say(WORK)
    until(lambda: worker.trace("looks.log"))
    session = admitted.session_id
    assert "finishes what it does" in run("turn", "pause", session).stdout
    jobs = worker.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    assert "next step" in run("turn", "steer", session, "use", "tabs").stdout
    assert run("turn", "resume", session).stdout == "It goes on.\n"
    until(lambda: len(worker.trace("looks.log")) == 2)
    assert run("turn", "stop", session).stdout == "Stopping.\n"
    assert worker.ended(admitted).outcome is Outcome.CANCELLED
    assert run("turn", "pause", session).stdout == "Nothing is running here.\n"
    assert "sent as a message" in run("turn", "steer", session, "hello").stdout
    assert run("turn", "pause", "ses_none").exit_code != 0
