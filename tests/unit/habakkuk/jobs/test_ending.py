from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import cast

import pytest

from habakkuk.core.errors import ExternalError, Invalid
from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.jobs.context import RunningJob, Surroundings
from habakkuk.jobs.contract import Retry
from habakkuk.jobs.ending import Verdict, judge
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
            Verdict("retry", "ExternalError: busy", 9.0),
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
