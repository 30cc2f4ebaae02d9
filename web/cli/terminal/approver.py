"""Ask the person at this terminal what a turn asks, unless somebody answers elsewhere first."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from habakkuk.core.errors import Conflict, Unavailable
from web.cli.terminal.clarifier import Clarifier
from web.cli.terminal.failures import say
from web.cli.terminal.keyboard import Keyboard
from web.cli.terminal.question import describe, seconds_left, time_left

if TYPE_CHECKING:
    from habakkuk.accounts.types import Principal
    from habakkuk.agent.approval.types import Approval
    from habakkuk.bootstrap import Container
    from web.cli.terminal.answer import LiveAnswer

_LOOK_SECONDS = 0.5
_ONCE, _SESSION, _DENY = "once", "session", "deny"
_WORDS = {
    **dict.fromkeys(("o", "once", "y", "yes"), _ONCE),
    **dict.fromkeys(("s", "session"), _SESSION),
    **dict.fromkeys(("d", "deny", "n", "no"), _DENY),
}
_SAID = {_ONCE: "Allowed once.", _SESSION: "Allowed for this session.", _DENY: "Not allowed."}
_ENDED = {
    _ONCE: "Allowed elsewhere.",
    _SESSION: "Allowed for this session elsewhere.",
    _DENY: "Denied elsewhere.",
    "cancelled": "The turn was stopped, so it is not run.",
}
_LATE = "Nobody answered in time, so it is not run."
_LEFT_OPEN = (
    "It is still open: `habakkuk approvals approve {id}` or `deny {id}` answers it. Ctrl+C stops"
    " the turn."
)


class Approver:
    """Puts open questions to one person, each once."""

    def __init__(self, container: Container, principal: Principal, keyboard: Keyboard) -> None:
        """Ask `principal`, who sits at `keyboard`."""
        self._approvals = container.approvals
        self._user = principal.user
        self._keyboard = keyboard
        self._put: set[str] = set()
        self._clarifier = Clarifier(container, principal, keyboard)

    def settle(self, session: str, view: LiveAnswer) -> None:
        """Put what a session waits for, its oldest question first.

        KeyboardInterrupt passes: it stops the turn, and answers nothing.
        """
        try:
            questions = self._approvals.open(self._user)
        except Unavailable:
            # Whoever follows the turn says so; the next look asks again.
            return
        for approval in questions:
            if approval.session_id == session and approval.id not in self._put:
                self._put.add(approval.id)
                view.break_off()
                self._ask(approval)
        self._clarifier.settle(session, view)

    def _ask(self, approval: Approval) -> None:
        say("")
        for line in describe(approval, shutil.get_terminal_size().columns):
            say(line)
        try:
            said = self._choose(approval)
            reason = self._reason(approval) if said == _DENY else ""
        except EOFError:
            say("\n" + _LEFT_OPEN.format(id=approval.id))
        except _Withdrawn as withdrawn:
            say(f"\n{withdrawn}")
        except KeyboardInterrupt:
            say("")
            raise
        else:
            self._answer(approval, said, reason)

    def _choose(self, approval: Approval) -> str:
        session = ", for this [s]ession" if approval.may_repeat else ""
        while True:
            typed = self._typed(
                approval, f"[o]nce{session}, [d]eny ({time_left(approval.expires_at)}): "
            )
            said = _WORDS.get(typed.casefold())
            if said == _SESSION and not approval.may_repeat:
                say("It may mean something else each time, so only this once can be allowed.")
            elif said is not None:
                return said

    def _reason(self, approval: Approval) -> str:
        try:
            return self._typed(approval, "Why not? The agent reads it; it may be empty: ")
        except EOFError:
            say("")
            return ""

    def _typed(self, approval: Approval, prompt: str) -> str:
        """Return the line that is typed. Raises _Withdrawn when there is nothing to answer."""
        self._keyboard.forget()
        sys.stderr.write(prompt)
        sys.stderr.flush()
        while (typed := self._keyboard.line(_LOOK_SECONDS)) is None:
            self._check(approval)
        return typed

    def _check(self, approval: Approval) -> None:
        if seconds_left(approval.expires_at) == 0:
            raise _Withdrawn(_LATE)
        try:
            outcome = self._approvals.get(self._user, approval.id).outcome
        except Unavailable:
            # The question may be open all the same; the answer will tell.
            return
        if outcome is not None:
            self._keyboard.forget()
            raise _Withdrawn(_ENDED.get(outcome, _LATE))

    def _answer(self, approval: Approval, said: str, reason: str) -> None:
        from habakkuk.agent.approval.types import Answer  # noqa: PLC0415 - not for --help

        try:
            self._approvals.answer(self._user, approval.id, Answer(said), reason)
        except Conflict as error:
            say(f"{error}.")
        except Unavailable as error:
            # Not answered: it is put again as soon as the database is back.
            self._put.discard(approval.id)
            say(f"{error}.")
        else:
            say(_SAID[said])


class _Withdrawn(Exception):
    """The question needs no answer from here any more; says why."""


def at_terminal(container: Container, principal: Principal) -> Approver | None:
    """Return who asks the person at this terminal, None when nobody can be asked here."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return Approver(container, principal, Keyboard(sys.stdin.fileno()))
