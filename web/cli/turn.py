"""`habakkuk turn`: what a person does to a turn that runs."""

from __future__ import annotations

from collections.abc import Sequence

import click

from web.cli.terminal.asking import ORIGIN, Asker
from web.cli.terminal.opened import opened, owner


@click.group("turn")
def command() -> None:
    """Guide, pause, resume or stop what runs in a session."""


@command.command("steer")
@click.argument("session", metavar="SESSION")
@click.argument("text", nargs=-1, required=True)
def steer(session: str, text: Sequence[str]) -> None:
    """Tell the agent something that it reads with its next step.

    With nothing running it is an ordinary message.
    """
    _say(session, f"/steer {' '.join(text)}")


@command.command("pause")
@click.argument("session", metavar="SESSION")
def pause(session: str) -> None:
    """Let it finish what it does now, then wait."""
    _say(session, "/pause")


@command.command("resume")
@click.argument("session", metavar="SESSION")
def resume(session: str) -> None:
    """Let what was paused go on."""
    _say(session, "/resume")


@command.command("stop")
@click.argument("session", metavar="SESSION")
def stop(session: str) -> None:
    """Stop the turn that runs or is next."""
    _say(session, "/stop")


def _say(session: str, text: str) -> None:
    from habakkuk.gateway.types import Inbound  # noqa: PLC0415 - not for --help

    with opened() as container:
        principal = owner(container)
        place = Asker(container, principal).place("", session, None)
        inbound = Inbound(place.address, principal.user, text, ORIGIN, session_id=session)
        admitted = container.gateway.admit(inbound)
    click.echo(admitted.reply or "Nothing was running, so it is sent as a message.")
