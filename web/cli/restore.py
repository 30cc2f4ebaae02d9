"""`habakkuk restore`: bring a backup back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from web.cli.terminal.opened import read_settings

if TYPE_CHECKING:
    from habakkuk.ops.restore import Restored


@click.command("restore")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, allow_dash=True))
@click.option("--yes", is_flag=True, help="Replace what is there already.")
def command(file: str, yes: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Bring back the backup FILE; - reads it from stdin. Nothing of Habakkuk may run meanwhile."""
    from habakkuk.ops.restore import restore_backup  # noqa: PLC0415 - not for --help

    settings = read_settings()
    if file == "-":
        done = restore_backup(settings, sys.stdin.buffer, replace=yes)
    else:
        with Path(file).open("rb") as source:
            done = restore_backup(settings, source, replace=yes)
    _say(done)


def _say(done: Restored) -> None:
    made = done.manifest
    click.echo(
        f"Restored what Habakkuk {made.habakkuk} saved on {made.created:%Y-%m-%d %H:%M} UTC;"
        f" the database is at {done.revision}."
    )
    if not made.secrets:
        click.echo("It held no keys: put them into $HABAKKUK_HOME/.env again.")
