from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from habakkuk.core.clock import Clock
from habakkuk.core.errors import ExternalError, Invalid
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.redaction import Redactor
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs import ending
from habakkuk.jobs.context import RunningJob, Surroundings
from habakkuk.jobs.contract import Retry
from habakkuk.jobs.ending import Ending, Verdict, judge
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.types import Job, JobState

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_JOB = Job(
    id="j",
    seq=1,
    kind="test",
    queue="turns",
    serial_key=None,
    payload={},
    state=JobState.RUNNING,
    attempt=0,
    crashes=0,
    max_attempts=3,
    cancel_requested=False,
    fence=1,
    owner="me",
    error=None,
    run_at=_NOW,
    created=_NOW,
    finished=None,
)


def a_run(attempt: int = 0) -> RunningJob:
    shared = Surroundings(cast("Database", None), Failpoints())
    return RunningJob(replace(_JOB, attempt=attempt), Lease("j", 1), shared, lambda lease: None)


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (Retry("soon"), Verdict("retry", "Retry: soon")),
        (Retry("soon", after=2.0), Verdict("retry", "Retry: soon", 2.0)),
        (Retry("never", fatal=True), Verdict("fail", "Retry: never")),
        (
            ExternalError("busy", retryable=True, retry_after=9.0),
            Verdict("retry", "ExternalError: busy", asked=9.0),
        ),
        (ExternalError("refused"), Verdict("fail", "ExternalError: refused")),
        (Invalid("odd"), Verdict("retry", "Invalid: odd")),
        (ValueError("bug"), Verdict("retry", "ValueError: bug")),
        (DatabaseAway("gone"), Verdict("release", after=1.0)),
        (Interrupted(Reason.LEASE_LOST), Verdict("nothing")),
        (Interrupted(Reason.CANCELLED), Verdict("cancel")),
        (Interrupted(Reason.STOPPING), Verdict("release")),
    ],
)
def test_what_follows_from_an_error(error: Exception, verdict: Verdict) -> None:
    assert judge(a_run(), error) == verdict


def test_the_last_attempt_fails_for_good() -> None:
    assert judge(a_run(attempt=2), Retry("again")).kind == "fail"
    assert judge(a_run(attempt=1), Retry("again")).kind == "retry"


def test_a_missing_database_is_no_attempt_even_the_last_time() -> None:
    assert judge(a_run(attempt=2), DatabaseAway("gone")).kind == "release"


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        (Reason.STOPPING, "release"),
        (Reason.CANCELLED, "cancel"),
        (Reason.LEASE_LOST, "nothing"),
    ],
)
def test_whatever_interrupted_work_raises_means_its_interrupt(reason: Reason, kind: str) -> None:
    run = a_run(attempt=2)
    run.interrupt.trip(reason)
    assert judge(run, ConnectionError("shut down")).kind == kind


def test_the_stronger_reason_counts() -> None:
    run = a_run()
    run.interrupt.trip(Reason.STOPPING)
    assert judge(run, Interrupted(Reason.LEASE_LOST)).kind == "nothing"


@pytest.mark.parametrize("text", ["a\x00b", "a\ud83db"])
def test_an_error_that_postgresql_cannot_store_is_cleaned(text: str) -> None:
    message = judge(a_run(), ValueError(text)).message
    assert "\x00" not in message
    assert message.encode("utf-8")
    assert message.startswith("ValueError: a")


def test_a_long_error_is_cut() -> None:
    assert len(judge(a_run(), ValueError("x" * 10_000)).message) == 2000


class Run:
    """A run whose database is away for its first calls."""

    def __init__(self, away: int, then: Exception | None = None) -> None:
        self.interrupt = Interrupt()
        self.away = away
        self.then = then
        self.calls = 0

    def finish_alone(self, state: JobState) -> None:
        self.calls += 1
        if self.calls <= self.away:
            raise DatabaseAway("gone")
        if self.then is not None:
            raise self.then


class MovedClock(Clock):
    """A clock that moves ten seconds at every look."""

    def __init__(self) -> None:
        self.time = 0.0

    def monotonic(self) -> float:
        self.time += 10.0
        return self.time


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "_AWAY_PAUSE_SECONDS", 0.0)


def done(run: Run) -> None:
    Ending(MovedClock(), Redactor()).done(cast("RunningJob", run))


def test_an_end_is_written_once_the_database_is_back(no_pause: None) -> None:
    run = Run(away=2)
    done(run)
    assert run.calls == 3


def test_an_end_whose_answer_was_lost_is_found_written(no_pause: None) -> None:
    run = Run(away=1, then=Interrupted(Reason.LEASE_LOST))
    done(run)
    assert run.calls == 2


def test_an_end_is_given_up_when_the_lease_can_no_longer_be_trusted(no_pause: None) -> None:
    run = Run(away=1000)
    with pytest.raises(DatabaseAway):
        done(run)
    # 25 seconds of trust, ten a look.
    assert run.calls == 3


def test_an_end_is_given_up_when_the_lease_is_lost(no_pause: None) -> None:
    run = Run(away=1000)
    run.interrupt.trip(Reason.LEASE_LOST)
    with pytest.raises(DatabaseAway):
        done(run)
    assert run.calls == 1


def test_a_job_that_was_stopped_waits_between_its_tries_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("habakkuk.jobs.ending.time.sleep", pauses.append)
    run = Run(away=2)
    run.interrupt.trip(Reason.STOPPING)
    done(run)
    assert pauses == [0.5, 0.5]


def test_what_a_handler_raises_after_its_end_changes_nothing() -> None:
    run = a_run()
    run._over = True
    assert judge(run, Retry("late")).kind == "nothing"
