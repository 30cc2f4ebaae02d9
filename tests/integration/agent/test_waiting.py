"""Turns that wait for a person: they hold nothing, and no answer to them is lost (bar 1)."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from habakkuk.agent.approval.types import Answer
from habakkuk.jobs.types import JobState
from tests.fakes.stack import Points, Stack, until

CALL = "[[tool effect {}]] work"
TURNS = 200
# blueprint §10: a pool of 12, one for presence and LISTEN, one each for heartbeat and sweep
POOL = 12 + 3
CONNECTIONS = text("""
    SELECT count(*) AS held, count(*) FILTER (WHERE state <> 'idle') AS busy
    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
""")


def _connections(stack: Stack) -> tuple[int, int]:
    """Return how many connections the process holds, and how many of them do something."""
    row = stack.container.database.run(CONNECTIONS)[0]
    return row.held, row.busy


def _answer_all(stack: Stack, answer: Answer = Answer.ONCE) -> None:
    for approval in stack.container.approvals.open(stack.owner):
        stack.container.approvals.answer(stack.owner, approval.id, answer)


def test_two_hundred_waiting_turns_hold_no_thread_and_no_connection(stack: Stack) -> None:
    # A test before this one may have left some, which go with its objects.
    before = _connections(stack)[0]
    host = stack.start()
    # Every slot works at the same time, so that its threads and connections are there.
    warm = [stack.say("[[stall]] warm", chat=f"w{n}") for n in range(8)]
    until(lambda: host.runner.active == len(warm))
    for n, admitted in enumerate(warm):
        stack.say("/stop", chat=f"w{n}")
        stack.reply(admitted)
    until(lambda: host.runner.active == 0)
    threads = set(threading.enumerate())
    waiting = [stack.say(CALL, chat=f"c{n}", agent="careful", attended=True) for n in range(TURNS)]
    until(lambda: len(stack.container.approvals.open(stack.owner)) == TURNS, 120)
    until(lambda: host.runner.active == 0)
    # The pool of the tools made its first thread meanwhile, and the fake model has its own.
    added = {thread.name for thread in set(threading.enumerate()) - threads}
    assert {name for name in added if "process_request" not in name} <= {"tool_0"}
    until(lambda: _connections(stack)[1] == 0)
    assert _connections(stack)[0] - before <= POOL
    assert stack.reply(stack.say("still there?")).body == "echo: still there?"
    _answer_all(stack)
    for admitted in waiting:
        stack.container.wake.wake("turns", admitted.turn_id or "")
    until(lambda: len(stack.trace("effects.log", "careful")) == TURNS, 120)
    for admitted in waiting:
        stack.reply(admitted)


@pytest.mark.parametrize("point", ["question.ask.after", "job.park.after"])
def test_an_answer_around_the_parking_is_never_lost(stack: Stack, point: str) -> None:
    points = Points({point: 1}, act=lambda: _answer_all(stack))
    stack.start(points)
    admitted = stack.say(CALL, agent="careful", attended=True)
    assert "done" in stack.reply(admitted).body
    assert points.passed.count(point) >= 1
    assert len(stack.trace("effects.log", "careful")) == 1


def test_answers_that_race_with_the_parking_are_never_lost(stack: Stack) -> None:
    stack.start()
    stop = threading.Event()

    def answer() -> None:
        while not stop.is_set():
            _answer_all(stack)

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        turns = [stack.say(CALL, chat=f"r{n}", agent="careful", attended=True) for n in range(40)]
        for admitted in turns:
            stack.reply(admitted)
    finally:
        stop.set()
        answering.join()
    assert len(stack.trace("effects.log", "careful")) == len(turns)


@pytest.mark.parametrize("point", ["question.ask.before", "question.ask.after", "job.park.after"])
def test_a_crash_around_the_question_asks_once(stack: Stack, point: str) -> None:
    stack.start(Points({point: 1}))
    admitted = stack.say(CALL, agent="careful", attended=True)
    jobs = stack.container.jobs
    until(lambda: stack.container.approvals.open(stack.owner) or _stuck(stack, admitted.turn_id))
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    assert len(stack.container.approvals.open(stack.owner)) == 1
    _answer_all(stack)
    stack.reply(admitted)
    assert len(stack.trace("effects.log", "careful")) == 1


def _stuck(stack: Stack, turn_id: str | None) -> bool:
    """Whether the run ended at its point: the job is held by nobody who works on it."""
    job = stack.container.jobs.get(turn_id or "")
    return job is not None and job.state is JobState.RUNNING and bool(stack.model.requests)


def test_the_time_that_a_person_takes_is_not_the_turns(stack: Stack) -> None:
    stack.start()
    admitted = stack.say(CALL, agent="careful", attended=True)
    jobs = stack.container.jobs
    until(lambda: (job := jobs.get(admitted.turn_id or "")) and job.state is JobState.WAITING)
    for table, column in (("waits", "created"), ("turns", "began")):
        earlier = f"UPDATE {table} SET {column} = {column} - interval '5 hours'"
        stack.container.database.run(text(earlier))
    _answer_all(stack)
    assert "done" in stack.reply(admitted).body
