"""`habakkuk jobs`: the durable work, as an operator sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from habakkuk.core.errors import Conflict, NotFound
from web.cli.terminal.opened import opened
from web.cli.terminal.output import (
    ago,
    local_time,
    output_option,
    print_fields,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from habakkuk.bootstrap import Container
    from habakkuk.jobs.types import Job

_STATES = ["pending", "running", "waiting", "done", "failed", "cancelled"]


@click.group("jobs")
def command() -> None:
    """List, show, retry and cancel jobs."""


@command.command("list")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="Only these.")
@click.option("--kind", help="Only this kind, such as turn.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@output_option
def list_jobs(states: Sequence[str], kind: str | None, limit: int, output: str) -> None:
    """List the newest jobs."""
    from habakkuk.jobs.types import JobState  # noqa: PLC0415 - not for --help

    with opened() as container:
        found = container.jobs.list([JobState(state) for state in states], kind, most=limit)
    if output == "json":
        print_json(jobs=[_as_json(job) for job in found])
    elif not found:
        click.echo("There are no such jobs.")
    else:
        rows = [(job.id, job.kind, _state(job), ago(job.created), job.error or "") for job in found]
        print_table(("ID", "KIND", "STATE", "MADE", "ERROR"), rows)


@command.command("show")
@click.argument("job_id")
@output_option
def show(job_id: str, output: str) -> None:
    """Show one job."""
    with opened() as container:
        job = _get(container, job_id)
    if output == "json":
        print_json(job=_as_json(job))
        return
    print_fields(
        {
            "Job": job.id,
            "Kind": f"{job.kind} (queue {job.queue})",
            "State": _state(job),
            "After others of": job.serial_key or "nothing",
            "Failures": f"{job.attempt} of {job.max_attempts}",
            "Crashes": str(job.crashes),
            "Worker": job.owner or "–",
            "Made": local_time(job.created),
            "Due": local_time(job.run_at),
            "Ended": local_time(job.finished),
            "Error": job.error or "–",
        }
    )


@command.command("retry")
@click.argument("job_id")
def retry(job_id: str) -> None:
    """Run a failed job again."""
    with opened() as container:
        job = _get(container, job_id)
        with container.database.transaction() as work:
            again = container.jobs.retry(work, job.id)
        if not again:
            raise Conflict(f"the job {job.id} is {job.state}; only failed ones run again")
        note = "" if container.jobs.workers_alive() else " once a worker is there"
    click.echo(f"{job.id} runs again{note}.")


@command.command("cancel")
@click.argument("job_id")
def cancel(job_id: str) -> None:
    """Cancel a job that has not ended."""
    with opened() as container:
        job = _get(container, job_id)
        with container.database.transaction() as work:
            state = container.jobs.cancel(work, job.id, "cancelled by the operator")
        if state is None:
            raise Conflict(f"the job {job.id} has ended already")
    told = "was told to stop" if state == "running" else "is cancelled"
    click.echo(f"{job.id} {told}.")


def _get(container: Container, job_id: str) -> Job:
    job = container.jobs.get(job_id)
    if job is None:
        raise NotFound(f"there is no job {job_id!r}; see `habakkuk jobs list`")
    return job


def _state(job: Job) -> str:
    if job.cancel_requested and job.state.alive:
        return f"{job.state}, to be cancelled"
    return str(job.state)


def _as_json(job: Job) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "serial_key": job.serial_key,
        "state": str(job.state),
        "cancel_requested": job.cancel_requested,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "crashes": job.crashes,
        "owner": job.owner,
        "created": job.created,
        "run_at": job.run_at,
        "finished": job.finished,
        "error": job.error,
    }
