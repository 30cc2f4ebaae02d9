"""`habakkuk rollback`: bring a workspace back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from web.cli.terminal.agents import agent_called
from web.cli.terminal.opened import opened
from web.cli.terminal.output import visible

if TYPE_CHECKING:
    from habakkuk.bootstrap import Container


@click.command("rollback")
@click.argument("checkpoint_id", metavar="ID")
@click.argument("path", required=False)
@click.option("-a", "--agent", metavar="NAME", help="Whose workspace; the default agent's.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def command(checkpoint_id: str, path: str | None, agent: str | None, yes: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Bring a workspace, or one PATH of it, back to a checkpoint.

    What stands there now becomes a checkpoint first. Files that the checkpoint does not have are
    removed; those that no checkpoint has (ignored, over 20 MB, in a repository of their own) stay.
    """
    with opened() as container:
        name = agent_called(container.settings.config, agent)
        _refuse_while_working(container, name)
        target, stat = container.checkpoints.preview(name, checkpoint_id, path)
        if not stat:
            click.echo(f"Nothing differs from {target.id}.")
            return
        click.echo(visible(stat))
        if not yes:
            click.confirm(f"Bring this back to {target.id}?", abort=True)
            # One may have begun while the question stood.
            _refuse_while_working(container, name)
        done = container.checkpoints.rollback(name, target.id, path)
    for left in done.left:
        click.echo(visible(f"Left alone: {left}"))
    click.echo(f"{name}'s workspace is as it was at {target.id}.")


def _refuse_while_working(container: Container, name: str) -> None:
    from habakkuk.core.errors import Conflict  # noqa: PLC0415 - not for --help

    if container.conversations.agent_works(name):
        raise Conflict(f"a turn of {name} is running; stop it first, or wait for its end")
