"""`habakkuk ask`: one message, one answer on stdout."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING, TextIO

import click

from habakkuk.core.errors import Invalid, Unavailable
from web.cli.terminal.answer import LiveAnswer
from web.cli.terminal.approver import at_terminal
from web.cli.terminal.asking import Asker, Ended
from web.cli.terminal.failures import ExitCode, say
from web.cli.terminal.opened import opened, owner
from web.cli.terminal.output import print_json, visible
from web.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from habakkuk.gateway.types import Admitted

_STDIN = "-"
# The largest message that a config can allow; more than that is refused without reading on.
_MAX_BYTES = 20_000_000


@click.command("ask")
@click.option("--agent", metavar="NAME", help="The agent to ask; the default one otherwise.")
@click.option("--session", metavar="ID", help="Continue this session.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@click.argument("text", nargs=-1)
def command(agent: str | None, session: str | None, as_json: bool, text: Sequence[str]) -> None:  # noqa: FBT001 - click passes it by name
    """Ask once and print the answer.

    TEXT may be left out, or hold "-", to read from stdin.
    """
    message, from_stdin = _message(text)
    progress = Progress(sys.stderr, shown=sys.stderr.isatty() and not as_json)
    with opened() as container:
        principal = owner(container)
        asker = Asker(container, principal, at_terminal(container, principal))
        place = asker.place(secrets.token_hex(12), session, agent)
        # What comes through a pipe was not typed by the person: it commands nothing.
        admitted = asker.send(place, message, commands=not from_stdin)
        if admitted.turn_id is None:
            ended = Ended(admitted.reply or "", "", "answered")
            if not as_json:
                click.echo(ended.answer)
        else:
            ended = _follow(asker, admitted, admitted.turn_id, progress, as_json=as_json)
    _report(admitted, ended, as_json=as_json)


def _message(words: Sequence[str]) -> tuple[str, bool]:
    """Return the message, and whether any of it came from stdin."""
    if not words and sys.stdin.isatty():
        raise click.UsageError('What do you want to ask? Such as: habakkuk ask "Who are you?"')
    if words and _STDIN not in words:
        return " ".join(words), False
    raw = sys.stdin.buffer.read(_MAX_BYTES + 1)
    if len(raw) > _MAX_BYTES:
        raise Invalid(f"stdin holds more than {_MAX_BYTES:,} bytes, which no message may have")
    piped = raw.decode("utf-8", "replace").strip()
    said = " ".join(word for word in words if word != _STDIN)
    return "\n\n".join(part for part in (said, piped) if part), True


def _follow(
    asker: Asker, admitted: Admitted, turn_id: str, progress: Progress, *, as_json: bool
) -> Ended:
    out: TextIO = StringIO() if as_json else sys.stdout
    live = not as_json and sys.stdout.isatty()
    view = LiveAnswer(turn_id, out, progress, live=live)
    progress.say("waiting…")
    try:
        return asker.follow(admitted.session_id, turn_id, view)
    except KeyboardInterrupt:
        view.break_off()
        with suppress(Unavailable):
            asker.stop(turn_id)
        raise


def _report(admitted: Admitted, ended: Ended, *, as_json: bool) -> None:
    if as_json:
        print_json(
            answer=ended.answer or None,
            notice=ended.notice or None,
            session=admitted.session_id,
            turn=admitted.turn_id,
            outcome=ended.outcome,
        )
    if ended.notice:
        say(visible(ended.notice))
    if not ended.answered:
        raise click.exceptions.Exit(ExitCode.REFUSED)
    if sys.stderr.isatty() and not as_json and admitted.turn_id:
        say(f"(go on with --session {admitted.session_id})")
