"""`habakkuk migrate`: the only command that changes the schema."""

from __future__ import annotations

import click

from web.cli.terminal.opened import running_settings


@click.command("migrate")
def command() -> None:
    """Bring the database to this version's schema."""
    from habakkuk.ops.schema import migrate_database  # noqa: PLC0415 - not for --help

    click.echo(f"The database is at {migrate_database(running_settings())}.")
