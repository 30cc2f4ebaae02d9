"""`habakkuk status`: one screen that says what runs and what works."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from habakkuk.core.errors import Unavailable
from web.cli.terminal.failures import ExitCode
from web.cli.terminal.opened import opened
from web.cli.terminal.output import output_option, print_fields, print_json, span

if TYPE_CHECKING:
    from habakkuk.bootstrap import Container
    from habakkuk.core.config.settings import Settings
    from habakkuk.jobs.store.records import Count
    from habakkuk.jobs.store.workers import WorkerRow
    from habakkuk.llm.selection import Selection
    from habakkuk.processes.types import Census

_CONNECT_SECONDS = 0.5
_STATES = ("pending", "running", "waiting", "failed")


@dataclass(frozen=True)
class Snapshot:
    """What there is to say. `counts` and `workers` are None when the database is away."""

    settings: Settings
    web: bool
    redis: bool
    counts: Sequence[Count] | None
    workers: Sequence[WorkerRow] | None
    selection: Selection
    names: Mapping[int, str]
    host: str
    census: Census | None = None

    def name(self, worker: WorkerRow) -> str:
        """Return what `up` calls a worker, else its role, with its process."""
        name = self.names.get(worker.pid, worker.role) if worker.host == self.host else worker.role
        return f"{name} (pid {worker.pid} on {worker.host})"

    @property
    def outdated(self) -> list[WorkerRow]:
        """The processes that read another config.yaml than the one that is there now."""
        ours = self.settings.config_hash
        return [worker for worker in self.workers or () if worker.config_hash != ours]


@click.command("status")
@output_option
def command(output: str) -> None:
    """Show what runs, who answers and what waits."""
    with opened() as container:
        snapshot = _look(container)
        if output == "json":
            print_json(**_as_json(snapshot))
        else:
            _print(snapshot)
    if snapshot.workers is None:
        raise click.exceptions.Exit(ExitCode.AWAY)


def _look(container: Container) -> Snapshot:
    from habakkuk.ops.run_file import read_run  # noqa: PLC0415 - not for --help

    counts: Sequence[Count] | None = None
    workers: Sequence[WorkerRow] | None = None
    census: Census | None = None
    try:
        counts = container.jobs.counts()
        census = container.processes.census()
        workers = container.jobs.workers_alive()
    except Unavailable:
        counts = workers = census = None
    settings = container.settings
    run = read_run(settings.home)
    return Snapshot(
        settings=settings,
        web=_listens(settings.listen),
        redis="redis" not in container.degraded(),
        counts=counts,
        workers=workers,
        selection=container.selection,
        names={one.pid: name for name, one in run.processes.items()} if run else {},
        host=socket.gethostname(),
        census=census,
    )


def _listens(address: tuple[str, int]) -> bool:
    """Whether something accepts connections there."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1", "*": "127.0.0.1"}.get(address[0], address[0])  # noqa: S104 - names it, binds nothing
    try:
        socket.create_connection((host, address[1]), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def _print(snapshot: Snapshot) -> None:
    from habakkuk import __version__  # noqa: PLC0415 - beside the other late imports
    from habakkuk.ops.run_file import browser_address  # noqa: PLC0415 - not for --help

    address = browser_address(snapshot.settings.listen)
    database = "does not answer: nothing can be read or asked until it is back"
    click.echo(f"Habakkuk {__version__}\n")
    print_fields(
        {
            "Web": address if snapshot.web else f"{address} (nothing listens there)",
            "Home": str(snapshot.settings.home),
            "Database": database if snapshot.workers is None else "answers",
            "Redis": "answers" if snapshot.redis else "away: answers come late and unstreamed",
            "Workers": _workers(snapshot),
            "Models": "\n".join(_models(snapshot)),
            "Jobs": _jobs(snapshot.counts),
            "Commands": _background(snapshot.census),
        },
        indent="  ",
    )
    if snapshot.outdated:
        names = ", ".join(snapshot.name(worker) for worker in snapshot.outdated)
        click.echo(f"\nStarted with another config.yaml than today's, start again: {names}")


def _workers(snapshot: Snapshot) -> str:
    if snapshot.workers is None:
        return "unknown"
    if not snapshot.workers:
        return "none: messages are stored, and answered when a worker runs"
    return "\n".join(f"{snapshot.name(one)}, for {span(one.started)}" for one in snapshot.workers)


def _background(census: Census | None) -> str:
    if census is None:
        return "unknown"
    running = f"{census.running} in the background"
    if census.kept:
        return running
    return f"{running}; the service that keeps them is not there: none can be started"


def _models(snapshot: Snapshot) -> list[str]:
    lines = []
    for models in snapshot.selection.agents.values():
        lines.append(models.line)
        if str(models.tier) == "none":
            lines.append("Without a model, what is stored can be read: `habakkuk sessions list`.")
        elif models.problem:
            lines.append(models.problem)
    return lines


def _jobs(counts: Sequence[Count] | None) -> str:
    if counts is None:
        return "unknown"
    total = _totals(counts)
    line = ", ".join(f"{total[state]} {state}" for state in _STATES)
    oldest = _oldest(counts, "pending")
    line += f"; the oldest waits for {span(oldest)}" if oldest else ""
    return line + ("; see `habakkuk jobs list --state failed`" if total["failed"] else "")


def _totals(counts: Sequence[Count]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total[str(count.state)] += count.jobs
    return total


def _oldest(counts: Sequence[Count], state: str) -> datetime | None:
    moments = [count.oldest for count in counts if count.state == state and count.oldest]
    return min(moments, default=None)


def _as_json(snapshot: Snapshot) -> dict[str, Any]:
    from habakkuk import __version__  # noqa: PLC0415 - beside the other late imports
    from habakkuk.ops.run_file import browser_address  # noqa: PLC0415 - not for --help

    totals = None if snapshot.counts is None else _totals(snapshot.counts)
    outdated = {worker.id for worker in snapshot.outdated}
    return {
        "habakkuk": __version__,
        "web": {"url": browser_address(snapshot.settings.listen), "listens": snapshot.web},
        "home": str(snapshot.settings.home),
        "database": "away" if snapshot.workers is None else "ok",
        "redis": "ok" if snapshot.redis else "away",
        "workers": None
        if snapshot.workers is None
        else [
            {
                "id": one.id,
                "host": one.host,
                "pid": one.pid,
                "queues": list(one.queues),
                "started": one.started,
                "outdated": one.id in outdated,
            }
            for one in snapshot.workers
        ],
        "background": None
        if snapshot.census is None
        else {"kept": snapshot.census.kept, "running": snapshot.census.running},
        "models": [
            {
                "agent": models.agent,
                "tier": str(models.tier),
                "models": [str(ref) for ref in models.chain],
                "problem": models.problem,
            }
            for models in snapshot.selection.agents.values()
        ],
        "jobs": None if totals is None else {state: totals[state] for state in _STATES},
    }
