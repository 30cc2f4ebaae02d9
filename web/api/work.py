"""What goes on here: the overview, and the jobs for the owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag

from habakkuk.accounts.types import Principal, Scope
from habakkuk.conversations.store.activity import Activity
from habakkuk.core.errors import Conflict, Forbidden, NotFound
from habakkuk.jobs.types import Job, JobState
from web.answers import json_answer
from web.api.bodies import ErrorBody, IdPath
from web.api.chat import CHANNEL
from web.api.shown import (
    ActivityBody,
    DoneBody,
    JobBody,
    JobsBody,
    JobsQuery,
    OverviewBody,
)
from web.api.tiers import tiers
from web.guards import needs
from web.site import container, principal

# Two takeovers send a job to the probe; the one that it kills there sets it aside.
_ASIDE_CRASHES = 3
_GROUPS: Mapping[str, Sequence[JobState]] = {
    "open": (JobState.PENDING, JobState.RUNNING, JobState.WAITING),
    "pending": (JobState.PENDING,),
    "running": (JobState.RUNNING,),
    "waiting": (JobState.WAITING,),
    "failed": (JobState.FAILED,),
    "aside": (JobState.FAILED,),
    "ended": (JobState.DONE, JobState.CANCELLED),
    "all": (),
}
api = APIBlueprint(
    "work",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="work")],
    abp_security=[{"token": []}],
    abp_responses={
        400: ErrorBody,
        401: ErrorBody,
        403: ErrorBody,
        404: ErrorBody,
        409: ErrorBody,
        503: ErrorBody,
    },
)


@api.get("/overview", responses={200: OverviewBody})
@needs(Scope.READ)
def show() -> Response:
    """Return what runs, what waits, what failed, and how the server is."""
    return json_answer(overview(principal()))


@api.get("/jobs", responses={200: JobsBody})
@needs(Scope.READ)
def listed(query: JobsQuery) -> Response:
    """List jobs; for the owner."""
    return json_answer(jobs(principal(), query))


@api.post("/jobs/<id>/retry", responses={200: DoneBody})
@needs(Scope.ADMIN)
def retry(path: IdPath) -> Response:
    """Run a failed job again; for the owner."""
    job = _job(principal(), path.id)
    with container().database.transaction() as work:
        again = container().jobs.retry(work, job.id)
    if not again:
        raise Conflict(f"this job is {job.state}; only failed ones run again")
    return json_answer(DoneBody(done="runs again"))


@api.post("/jobs/<id>/cancel", responses={200: DoneBody})
@needs(Scope.ADMIN)
def cancel(path: IdPath) -> Response:
    """Cancel a job that has not ended; for the owner."""
    job = _job(principal(), path.id)
    with container().database.transaction() as work:
        state = container().jobs.cancel(work, job.id, "cancelled by the operator")
    if state is None:
        raise Conflict("this job has ended already")
    return json_answer(DoneBody(done="told to stop" if state == "running" else "cancelled"))


def overview(own: Principal) -> OverviewBody:
    """Return the overview as this person may see it."""
    alive, failed = container().conversations.activity(own)
    running = [row for row in alive if row.state == JobState.RUNNING]
    paused = [row for row in alive if row.paused]
    waiting = [row for row in alive if row.state == JobState.WAITING and not row.paused]
    queued = [row for row in alive if row.state == JobState.PENDING]
    return OverviewBody(
        sentence=sentence(
            running=len(running),
            queued=len(queued),
            paused=len(paused),
            waiting=len(waiting),
            failed=len(failed),
        ),
        running=_shown(own, running),
        paused=_shown(own, paused),
        waiting=_shown(own, waiting),
        queued=_shown(own, queued),
        failed=_shown(own, failed),
        health=tiers(container()),
    )


def sentence(*, running: int, queued: int, paused: int, waiting: int, failed: int) -> str:
    """Return in one sentence what goes on."""
    parts = []
    if running:
        parts.append(f"{running} {_plural(running, 'turn runs', 'turns run')}")
    if queued:
        parts.append(f"{queued} {_plural(queued, 'is', 'are')} queued")
    if paused:
        parts.append(f"{paused} {_plural(paused, 'is', 'are')} paused")
    if waiting:
        parts.append(f"{waiting} {_plural(waiting, 'waits', 'wait')} for an answer of yours")
    if failed:
        parts.append(f"{failed} failed within a day")
    return f"{', '.join(parts)}." if parts else "Nothing runs and nothing waits for you."


def jobs(own: Principal, query: JobsQuery) -> JobsBody:
    """Return the jobs of a query. Raises Forbidden for everybody but the owner."""
    require_owner(own)
    crashes = _ASIDE_CRASHES if query.state == "aside" else 0
    # One more than is shown tells whether there are older ones.
    found = container().jobs.list(
        _GROUPS[query.state], query.kind, crashes, query.before, query.limit + 1
    )
    shown = found[: query.limit]
    counts: Counter[str] = Counter()
    for count in container().jobs.counts():
        counts[str(count.state)] += count.jobs
    return JobsBody(
        jobs=[JobBody.of(job, aside=_aside(job)) for job in shown],
        before=shown[-1].seq if len(found) > len(shown) else None,
        counts=counts,
    )


def require_owner(own: Principal) -> None:
    """Raise Forbidden for everybody but the owner."""
    if not own.sees(None):
        raise Forbidden("the jobs of this server are for its owner")


def _job(own: Principal, job_id: str) -> Job:
    require_owner(own)
    found = container().jobs.get(job_id)
    if found is None:
        raise NotFound("there is no such job")
    return found


def _aside(job: Job) -> bool:
    return job.state is JobState.FAILED and job.crashes >= _ASIDE_CRASHES


def _shown(own: Principal, rows: Sequence[Activity]) -> list[ActivityBody]:
    prefix = f"{own.user.id}/"
    shown = []
    for row in rows:
        reachable = row.channel == CHANNEL and row.chat.startswith(prefix)
        shown.append(ActivityBody.of(row, row.chat.removeprefix(prefix) if reachable else None))
    return shown


def _plural(count: int, one: str, many: str) -> str:
    return one if count == 1 else many
