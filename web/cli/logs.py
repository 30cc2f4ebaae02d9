"""`habakkuk logs`: what the processes of `up` wrote, merged by time."""

from __future__ import annotations

import time
from collections.abc import Sequence

import click

from habakkuk.core.errors import NotFound
from web.cli.terminal.log_lines import LEVELS, LogFile, LogLine, merged, tail
from web.cli.terminal.output import visible

_FOLLOW_SECONDS = 0.3


@click.command("logs")
@click.option("-f", "--follow", is_flag=True, help="Go on with what is written next.")
@click.option("--process", metavar="NAME", help="Only this process, such as worker-1.")
@click.option("--level", type=click.Choice(list(LEVELS)), help="Only this level and above.")
@click.option("-n", "--lines", type=click.IntRange(0, 100_000), default=50, show_default=True)
@click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", help="json: as written."
)
def command(follow: bool, process: str | None, level: str | None, lines: int, output: str) -> None:  # noqa: FBT001 - click passes it by name
    """Show the logs of this home's processes."""
    from habakkuk.core.config.environment import read_environment  # noqa: PLC0415 - not for --help

    folder = read_environment().home / "logs"
    files = [LogFile(path) for path in sorted(folder.glob(f"{process or '*'}.log"))]
    if not files:
        known = ", ".join(sorted(path.stem for path in folder.glob("*.log")))
        raise NotFound(
            f"there is no log of {process!r}; there are: {known}"
            if process and known
            else f"there are no logs in {folder}; they are written while ./scripts/up runs"
        )
    _print(tail(files, lines, level), raw=output == "json")
    while follow:
        time.sleep(_FOLLOW_SECONDS)
        _print(merged(files, level), raw=output == "json")


def _print(lines: Sequence[LogLine], *, raw: bool) -> None:
    for line in lines:
        # Lines of JSON have nothing to escape; those of the databases may.
        click.echo(visible(line.raw if raw else line.text))
