"""`habakkuk processes`: agents' commands in the background."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import output_option, print_json, print_table, visible

if TYPE_CHECKING:
    from habakkuk.bootstrap import Container
    from habakkuk.processes.types import Process

_TAIL = 20_000
_CHUNK = 1_000_000


@click.group("processes")
def command() -> None:
    """Look at the commands that agents run in the background, and end them."""


@command.command("list")
@click.option("--agent", metavar="NAME", help="Only those of this agent.")
@click.option("--running", is_flag=True, help="Only those that run.")
@output_option
def list_processes(agent: str | None, running: bool, output: str) -> None:  # noqa: FBT001 - click passes it by name
    """Show what runs, then what ended, the latest first."""
    with opened() as container:
        listed = container.processes.list(agent)
    listed = [one for one in listed if one.state.alive or not running]
    if output == "json":
        print_json(processes=[_as_json(one) for one in listed])
    elif listed:
        print_table(("ID", "AGENT", "COMMAND", "IT"), [_cells(one) for one in listed])
    else:
        click.echo("There are no background processes.")


@command.command("output")
@click.argument("process_id", metavar="ID")
@click.option("--all", "whole", is_flag=True, help="All that is kept, not only the end.")
def show_output(process_id: str, whole: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Print what a process printed, as it did: the last 20 kB, or all that is kept."""
    with opened() as container:
        process = _found(container, process_id)
        since = 0 if whole else -_TAIL
        while True:
            part = container.processes.read(process.id, since, _CHUNK)
            if part.next < part.end:
                part = part.whole_characters()
            _write(part.data)
            since = part.next
            if not part.data or since >= part.end:
                break


@command.command("kill")
@click.argument("process_id", metavar="ID")
def kill(process_id: str) -> None:
    """End a process and all that it started; its agent is not told."""
    from habakkuk.core.interrupt import Interrupt  # noqa: PLC0415 - not for --help

    with opened() as container:
        process = _found(container, process_id)
        ended = container.processes.kill(process.id, "the operator", Interrupt())
    click.echo(" ".join(_cells(ended)[::3]))
    if ended.state.alive:
        raise click.exceptions.Exit(1)


def _found(container: Container, process_id: str) -> Process:
    from habakkuk.core.errors import NotFound  # noqa: PLC0415 - not for --help

    process = container.processes.find(None, process_id)
    if process is None:
        raise NotFound(f"there is no background process {process_id!r}; see: processes list")
    return process


def _write(data: bytes) -> None:
    """Write output as it came, but to a terminal only what cannot steer it."""
    if sys.stdout.isatty():
        click.echo(visible(data.decode("utf-8", "replace")), nl=False)
    else:
        click.echo(data, nl=False)


def _cells(process: Process) -> tuple[str, str, str, str]:
    from habakkuk.processes.words import short, standing  # noqa: PLC0415 - not for --help

    return process.id, process.agent, visible(short(process.command)), visible(standing(process))


def _as_json(process: Process) -> dict[str, Any]:
    return {
        "id": process.id,
        "agent": process.agent,
        "session": process.session_id,
        "turn": process.turn_id,
        "command": process.command,
        "folder": process.folder,
        "state": str(process.state),
        "code": process.code,
        "reason": process.reason,
        "notify": process.notify,
        "created": process.created,
        "seconds": process.ran,
    }
