"""`habakkuk checkpoints`: the kept states of a workspace."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from web.cli.terminal.agents import agent_called
from web.cli.terminal.opened import opened
from web.cli.terminal.output import local_time, one_line, output_option, print_json, print_table

if TYPE_CHECKING:
    from habakkuk.tools.checkpoints.types import Checkpoint


@click.command("checkpoints")
@click.option("-a", "--agent", metavar="NAME", help="Whose workspace; the default agent's.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@output_option
def command(agent: str | None, limit: int, output: str) -> None:
    """List the states of a workspace that `rollback` can go back to, the newest first."""
    with opened() as container:
        name = agent_called(container.settings.config, agent)
        found = container.checkpoints.all(name)[:limit]
        problem = container.checkpoints.problem(name)
    if output == "json":
        print_json(checkpoints=[_as_json(one) for one in found], problem=problem)
        return
    if problem:
        click.echo(f"{name}: {problem}", err=True)
    if not found:
        click.echo(f"{name} has no checkpoints yet; one is made before a turn changes files.")
        return
    rows = [
        (one.id, local_time(_at(one)), one.label.kind, one.label.session, _request(one))
        for one in found
    ]
    print_table(("ID", "TIME", "KIND", "SESSION", "REQUEST"), rows)


def _at(one: Checkpoint) -> datetime:
    return datetime.fromtimestamp(one.at, UTC)


def _request(one: Checkpoint) -> str:
    label = one.label
    return (
        f"before going back to {label.restored}" if label.restored else one_line(label.request, 60)
    )


def _as_json(one: Checkpoint) -> dict[str, object]:
    return {
        "id": one.id,
        "at": _at(one).isoformat(),
        "kind": one.label.kind,
        "session": one.label.session,
        "conversation": one.label.conversation,
        "turn": one.label.turn,
        "request": one.label.request,
        "restored": one.label.restored,
    }
