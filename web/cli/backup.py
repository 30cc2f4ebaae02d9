"""`habakkuk backup`: everything in one file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from web.cli.terminal.opened import read_settings


@click.command("backup")
@click.argument("file", required=False, type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--with-secrets", is_flag=True, help="Take $HABAKKUK_HOME/.env along, keys and all.")
def command(file: str | None, with_secrets: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Write the database and the home's files into FILE, while everything runs.

    Without FILE a name with the time is chosen, in this folder; with - it goes to stdout.
    """
    from habakkuk.ops.backup import make_backup, whole_file  # noqa: PLC0415 - not for --help

    settings = read_settings()
    if file == "-":
        made = make_backup(settings, sys.stdout.buffer, secrets=with_secrets)
        target = "stdout"
    else:
        path = Path(file) if file else Path(_name())
        if not path.absolute().parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.absolute().parent}")
        with whole_file(path.absolute()) as out:
            made = make_backup(settings, out, secrets=with_secrets)
        target = f"{path} ({path.stat().st_size / 1e6:.1f} MB)"
    click.echo(f"Wrote the database and {made.files} files to {target}.", err=True)
    if made.skipped:
        click.echo(
            f"Left out (links, gone meanwhile, or too deep or long a path): {made.skipped}.",
            err=True,
        )
    if not with_secrets:
        click.echo("Keys in .env are not in it; --with-secrets takes them along.", err=True)


def _name() -> str:
    from datetime import UTC, datetime  # noqa: PLC0415 - not for --help

    return f"habakkuk-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.tar"
