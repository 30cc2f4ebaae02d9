"""`habakkuk chat`: one conversation, line by line."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from habakkuk.core.errors import UserError
from web.cli.terminal.answer import LiveAnswer
from web.cli.terminal.approver import at_terminal
from web.cli.terminal.asking import Asker, Ended, Place
from web.cli.terminal.failures import ExitCode, say
from web.cli.terminal.history import History
from web.cli.terminal.opened import opened, owner
from web.cli.terminal.output import visible
from web.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from habakkuk.gateway.types import Admitted

_LEAVE = {"/quit", "/exit"}
_HELLO = "Ctrl+C stops an answer, Ctrl+D or /quit leaves; end a line with \\ to go on in the next."


@click.command("chat")
@click.option("--agent", metavar="NAME", help="The agent to talk to; the default one otherwise.")
@click.option("--session", metavar="ID", help="Continue this session.")
def command(agent: str | None, session: str | None) -> None:
    """Talk line by line, also through a pipe.

    Lines such as /new, /stop and /status are commands.
    """
    typed = sys.stdin.isatty()
    with opened() as container:
        principal = owner(container)
        asker = Asker(container, principal, at_terminal(container, principal))
        place = asker.place(secrets.token_hex(12), session, agent)
        chat = _Chat(asker, place, typed=typed)
        if typed:
            say(_HELLO)
            with History(container.settings.home / "cli_history"):
                chat.run(_typed_lines())
        else:
            chat.run(line.rstrip("\n") for line in sys.stdin)
    if chat.failed and not typed:
        raise click.exceptions.Exit(ExitCode.REFUSED)


class _Chat:
    """One conversation of one person at one terminal."""

    def __init__(self, asker: Asker, place: Place, *, typed: bool) -> None:
        self._asker = asker
        self._place = place
        self._typed = typed
        self._progress = Progress(sys.stderr, shown=typed and sys.stderr.isatty())
        self.failed = False

    def run(self, lines: Iterator[str]) -> None:
        """Answer each line until the last one or /quit."""
        for line in lines:
            if line.strip() in _LEAVE:
                return
            if line.strip():
                self._answer(line)

    def _answer(self, line: str) -> None:
        try:
            admitted = self._asker.send(self._place, line)
        except UserError as error:
            if not self._typed:
                raise
            say(f"{error}.")
            return
        if admitted.turn_id is None:
            click.echo(visible(admitted.reply or ""))
            self._place = self._asker.placed_after_command(self._place, admitted)
            return
        # The agent is chosen by the first message; from then on it is the conversation's.
        self._place = replace(self._place, agent=None)
        ended = self._follow(admitted, admitted.turn_id)
        if ended is not None and ended.notice:
            say(visible(ended.notice))
        self.failed = self.failed or ended is None or not ended.answered

    def _follow(self, admitted: Admitted, turn_id: str) -> Ended | None:
        """Show the answer. Ctrl+C stops it, a second one leaves it to end unseen (None)."""
        live = sys.stdout.isatty()
        view = LiveAnswer(turn_id, sys.stdout, self._progress, live=live)
        self._progress.say("waiting…")
        try:
            return self._asker.follow(admitted.session_id, turn_id, view)
        except KeyboardInterrupt:
            view.break_off()
            if not self._typed:
                self._asker.stop(turn_id)
                raise
        try:
            self._progress.say("stopping…")
            self._asker.stop(turn_id)
            return self._asker.follow(admitted.session_id, turn_id, view)
        except KeyboardInterrupt:
            view.break_off()
            return None


def _typed_lines() -> Iterator[str]:
    """Yield what the person types; Ctrl+C drops a line, Ctrl+D ends."""
    while True:
        try:
            line = input("> ")
            while line.endswith("\\"):
                line = line[:-1] + "\n" + input("… ")
        except KeyboardInterrupt:
            click.echo()
            continue
        except EOFError:
            click.echo()
            return
        yield line
