"""Put an agent's questions to the person at this terminal, unless answered elsewhere first."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from habakkuk.core.errors import Unavailable, UserError
from web.cli.terminal.failures import say
from web.cli.terminal.keyboard import Keyboard
from web.cli.terminal.question import exact, time_left

if TYPE_CHECKING:
    from habakkuk.accounts.types import Principal
    from habakkuk.agent.clarify.types import Question
    from habakkuk.bootstrap import Container
    from web.cli.terminal.answer import LiveAnswer

_LOOK_SECONDS = 0.5
_ENDED = {
    "answered": "Answered elsewhere.",
    "cancelled": "The turn was stopped.",
    "expired": "Nobody answered in time, so it goes on without.",
}
_LEFT_OPEN = (
    "It is still open: a message in this conversation, such as from the dashboard, answers it."
    " Ctrl+C stops the turn."
)


class Clarifier:
    """Puts open questions to one person, each once."""

    def __init__(self, container: Container, principal: Principal, keyboard: Keyboard) -> None:
        """Ask `principal`, who sits at `keyboard`."""
        self._questions = container.questions
        self._user = principal.user
        self._keyboard = keyboard
        self._put: set[str] = set()

    def settle(self, session: str, view: LiveAnswer) -> None:
        """Put what a session asks. KeyboardInterrupt passes: it stops the turn."""
        try:
            found = self._questions.open(self._user)
        except Unavailable:
            # Whoever follows the turn says so; the next look asks again.
            return
        for question in found:
            if question.session_id == session and question.id not in self._put:
                self._put.add(question.id)
                view.break_off()
                self._ask(question)

    def _ask(self, question: Question) -> None:
        say("")
        for line in _lines(question):
            say(line)
        try:
            said = self._typed(question)
        except EOFError:
            say("\n" + _LEFT_OPEN)
            return
        except KeyboardInterrupt:
            say("")
            raise
        if said is None:
            return
        try:
            self._questions.answer(self._user, question.id, said)
        except Unavailable as error:
            # Not answered: it is put again as soon as the database is back.
            self._put.discard(question.id)
            say(f"{error}.")
        except UserError as error:
            say(f"{error}.")

    def _typed(self, question: Question) -> str | None:
        """Return what is typed; None when there is nothing to answer any more."""
        self._keyboard.forget()
        self._prompt(question)
        while not (typed := self._keyboard.line(_LOOK_SECONDS)):
            if typed is not None:
                self._prompt(question)
            elif (outcome := self._outcome(question)) is not None:
                self._keyboard.forget()
                say("\n" + _ENDED.get(outcome, _ENDED["expired"]))
                return None
        return typed

    @staticmethod
    def _prompt(question: Question) -> None:
        sys.stderr.write(f"Your answer ({time_left(question.expires_at)}): ")
        sys.stderr.flush()

    def _outcome(self, question: Question) -> str | None:
        try:
            return self._questions.get(self._user, question.id).outcome
        except Unavailable:
            # It may be open all the same; the answer will tell.
            return None


def _lines(question: Question) -> Iterator[str]:
    """Yield the questions, whose words cannot look like lines around them."""
    from habakkuk.tools.asking import in_words  # noqa: PLC0415 - not for --help

    yield f"{exact(question.agent)} asks:"
    for line in in_words(question.questions).split("\n"):
        yield f"  {exact(line)}"
