"""`habakkuk sessions`: what was said, and by which model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import opened, owner
from web.cli.terminal.output import (
    ago,
    local_time,
    one_line,
    output_option,
    print_fields,
    print_json,
    print_table,
    visible,
)

if TYPE_CHECKING:
    from habakkuk.agent.inspection import Inspection
    from habakkuk.conversations.types import Session, StoredMessage
    from habakkuk.llm.types import Block

_INPUT_WIDTH = 100
_RESULT_WIDTH = 200


@click.group("sessions")
def command() -> None:
    """List and read sessions, and choose their models."""


@command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@output_option
def list_sessions(limit: int, output: str) -> None:
    """List the newest sessions."""
    with opened() as container:
        found = container.conversations.sessions(owner(container), limit)
    if output == "json":
        print_json(sessions=[_as_json(session) for session in found])
    elif not found:
        click.echo("There are no sessions yet; begin one with `habakkuk ask TEXT`.")
    else:
        rows = [(one.id, one.agent, ago(one.updated), one.title or "") for one in found]
        print_table(("ID", "AGENT", "LAST", "TITLE"), rows)


@command.command("show")
@click.argument("session_id")
@output_option
def show(session_id: str, output: str) -> None:
    """Show a session as the model sees it."""
    with opened() as container:
        principal = owner(container)
        session = container.conversations.session(principal, session_id)
        messages = container.conversations.transcript(principal, session_id)
    if output == "json":
        print_json(session=_as_json(session), messages=[_message(one) for one in messages])
        return
    chosen = {"Model": session.model, "Effort": session.effort}
    print_fields(
        {"Session": session.id, "Agent": session.agent, "Began": local_time(session.created)}
        | {name: value for name, value in chosen.items() if value}
    )
    for stored in messages:
        click.echo(f"\n{stored.message.role}:")
        for block in stored.message.blocks:
            click.echo(_shown(block))


@command.command("inspect")
@click.argument("session_id")
@click.option("--turn", metavar="ID", help="The turn; the latest without one.")
@output_option
def inspect(session_id: str, turn: str | None, output: str) -> None:
    """Show what the model saw: the prompt by its parts, with what each took."""
    from habakkuk.llm.counting import exact_count  # noqa: PLC0415 - quick --help
    from web.api.inspected import InspectionBody  # noqa: PLC0415 - quick --help

    with opened() as container:
        found = container.inspections(exact_count()).of(owner(container), session_id, turn)
    if output == "json":
        print_json(**InspectionBody.of(found).model_dump(mode="json"))
        return
    print_fields(
        {
            "Session": found.session.id,
            "Turn": found.turn,
            "Tokens": f"{found.tokens:,} by our count, {_provider_count(found)}",
            "Summed up": f"{found.left_out} earlier messages" if found.left_out else "nothing",
            "Recalled": ", ".join(found.recalled) or "nothing",
        }
    )
    rows = [
        (part.name, f"{part.tokens:,}", "cut" if part.cut else "", one_line(part.excerpt, 60))
        for part in found.parts
    ]
    print_table(("PART", "TOKENS", "", "BEGINS"), rows)


def _provider_count(found: Inspection) -> str:
    if found.counted is None:
        return "the provider gave none"
    return f"{found.counted:,} by the provider's, {found.cached or 0:,} of them cached"


@command.command("compact")
@click.argument("session_id")
def compact(session_id: str) -> None:
    """Sum up what is old in a session; nothing is deleted."""
    from habakkuk.agent.asked import asked_job  # noqa: PLC0415 - quick --help
    from habakkuk.agent.compaction.handler import COMPACT_KIND  # noqa: PLC0415 - quick --help

    with opened() as container:
        conversation = container.conversations.of_session(owner(container), session_id)
        job = asked_job(COMPACT_KIND, replace(conversation, session_id=session_id))
        with container.database.transaction() as work:
            container.jobs.enqueue(work, job)
    click.echo(f"Queued as job {job.id}; what became of it stands in the conversation.")


@command.command("set")
@click.argument("session_id")
@click.option("--model", metavar="PROVIDER/MODEL", help="Its model; default: its agent's.")
@click.option("--effort", metavar="LEVEL", help="How hard the model thinks; default: as it does.")
@output_option
def choose(session_id: str, model: str | None, effort: str | None, output: str) -> None:
    """Choose the model of a session and how hard it thinks."""
    if model is None and effort is None:
        raise click.UsageError("Give --model, --effort or both; `default` takes a choice back.")
    with opened() as container:
        chosen = container.choices.change(owner(container), session_id, model=model, effort=effort)
    if output == "json":
        print_json(session=_as_json(chosen.session), notes=list(chosen.notes))
        return
    session = chosen.session
    print_fields(
        {
            "Session": session.id,
            "Model": session.model or "that of its agent",
            "Effort": session.effort or "as the model does by itself",
        }
    )
    for note in chosen.notes:
        click.echo(f"Note: {one_line(note)}")


def _shown(block: Block) -> str:
    """Return a block as a person reads it."""
    if block.type == "text":
        return visible(block.text).rstrip("\n")
    if block.type == "thinking":
        return f"  (thinking) {one_line(block.text, _RESULT_WIDTH)}"
    if block.type == "tool_call":
        return f"  (tool {one_line(block.name)}) {one_line(str(block.input), _INPUT_WIDTH)}"
    if block.type == "tool_result":
        what = "error" if block.is_error else "result"
        return f"  ({what}) {one_line(block.text, _RESULT_WIDTH)}"
    if block.type == "media":
        return f"  (file) {one_line(block.name or block.mime)}"
    return f"  (kept for {one_line(block.provider)})"


def _as_json(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "agent": session.agent,
        "model": session.model,
        "effort": session.effort,
        "title": session.title,
        "conversation": session.conversation_id,
        "created": session.created,
        "updated": session.updated,
    }


def _message(stored: StoredMessage) -> dict[str, Any]:
    from habakkuk.llm.types import blocks_to_json  # noqa: PLC0415 - not for --help

    return {
        "seq": stored.seq,
        "turn": stored.job_id,
        "role": str(stored.message.role),
        "blocks": blocks_to_json(stored.message.blocks),
    }
