"""`habakkuk approvals`: what waits for a person, and the answer."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from web.cli.terminal.opened import opened, owner
from web.cli.terminal.output import output_option, print_json
from web.cli.terminal.question import describe, time_left

if TYPE_CHECKING:
    from habakkuk.agent.approval.types import Approval


@click.group("approvals")
def command() -> None:
    """List what waits for your answer, and answer it."""


@command.command("list")
@output_option
def list_approvals(output: str) -> None:
    """Show the open questions, oldest first, with all that would run."""
    with opened() as container:
        found = container.approvals.open(owner(container).user)
    if output == "json":
        print_json(approvals=[_as_json(approval) for approval in found])
    elif found:
        _print(found)
    else:
        click.echo("Nothing waits for an answer.")


@command.command("approve")
@click.argument("approval_id", metavar="ID")
@click.option("--session", is_flag=True, help="Allow the very same call for the whole session.")
def approve(approval_id: str, session: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Let a call run, once."""
    approval = _answer(approval_id, "session" if session else "once")
    click.echo(f"{approval.tool} is allowed {'for the session' if session else 'once'}.")


@command.command("deny")
@click.argument("approval_id", metavar="ID")
@click.option("--reason", metavar="TEXT", default="", help="Why not; the agent reads it.")
def deny(approval_id: str, reason: str) -> None:
    """Refuse a call; the turn goes on without it."""
    approval = _answer(approval_id, "deny", reason)
    click.echo(f"{approval.tool} is denied.")


def _answer(approval_id: str, said: str, reason: str = "") -> Approval:
    from habakkuk.agent.approval.types import Answer  # noqa: PLC0415 - not for --help

    with opened() as container:
        user = owner(container).user
        return container.approvals.answer(user, approval_id, Answer(said), reason)


def _print(approvals: Sequence[Approval]) -> None:
    width = shutil.get_terminal_size().columns
    for number, approval in enumerate(approvals):
        if number:
            click.echo()
        once = "" if approval.may_repeat else ", once only"
        click.echo(f"{approval.id} ({time_left(approval.expires_at)}{once})")
        for line in describe(approval, width):
            click.echo(line)


def _as_json(approval: Approval) -> dict[str, object]:
    return {
        "id": approval.id,
        "turn": approval.turn_id,
        "session": approval.session_id,
        "conversation": approval.conversation_id,
        "agent": approval.agent,
        "tool": approval.tool,
        "input": approval.input,
        "folder": approval.folder,
        "why": approval.why,
        "may_repeat": approval.may_repeat,
        "created": approval.created,
        "expires_at": approval.expires_at,
    }
