"""Buttons that are pressed: each decides once, for the prompt that it stands below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from habakkuk.accounts.service import Accounts
from habakkuk.accounts.types import User
from habakkuk.agent import buttons
from habakkuk.agent.approval import store as approvals
from habakkuk.agent.approval.types import Approval
from habakkuk.agent.buttons import Pressed
from habakkuk.agent.clarify import store as questions
from habakkuk.agent.clarify.types import Question
from habakkuk.channels.messages import Press
from habakkuk.channels.registry import Line
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, Conversation, NewChatMessage
from habakkuk.core.errors import ChannelError, Conflict, Invalid
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, Work
from habakkuk.gateway import places
from habakkuk.gateway.answering import Answering, done
from habakkuk.gateway.entry import remote_id
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Cursor

_log = get_logger("gateway.presses")
_EXPIRED = "This has expired: it was answered already, or its time is over."
_NOT_YOURS = "This is not yours to decide."


@dataclass(frozen=True)
class Told:
    """What is said of a press. `stays`: somebody else may press there yet."""

    said: str
    stays: bool = False
    decided: bool = False


class Presses:
    """The presses of every channel."""

    def __init__(self, database: Database, accounts: Accounts, answering: Answering) -> None:
        """Use the parts of this process."""
        self._database = database
        self._accounts = accounts
        self._answering = answering

    def press(self, line: Line, press: Press, cursor: Cursor | None) -> Told:
        """Decide by a press and say at the platform what became of it, after the commit."""
        told = self._told(line, press)
        if cursor is not None:
            with self._database.transaction() as work:
                cursors.save(work, places.address(line, press), cursor)
        adapter = line.adapter
        try:
            (adapter.decline if told.stays else adapter.settle)(press, told.said)
        except ChannelError as error:
            _log.warning("a press was not answered", account=line.name, reason=str(error))
        return told

    def _told(self, line: Line, press: Press) -> Told:
        pressed = buttons.read(press.data)
        prompt = self._prompt(pressed) if pressed is not None else None
        if pressed is None or prompt is None:
            return Told(_EXPIRED)
        user = self._accounts.of_identity(line.channel, line.name, press.sender, press.sender_name)
        if not user.decides_for(prompt.user_id):
            return Told(_NOT_YOURS, stays=True)
        row = _Row(user, line.name, remote_id(f"press {press.id}"))
        try:
            with self._database.transaction() as work:
                place = addresses.lock_by_id(work, prompt.conversation_id)
                if place is None:
                    return Told(_EXPIRED)
                if isinstance(prompt, Approval):
                    return self._approved(work, row, prompt, pressed)
                return self._answered(work, row, _Asked(place, prompt), pressed)
        except (Conflict, Invalid) as error:
            return Told(_EXPIRED if isinstance(error, Conflict) else str(error))

    def _prompt(self, pressed: Pressed) -> Approval | Question | None:
        """Return what the button stands below; both kinds of waits have ids of their own."""
        return approvals.get(self._database, f"approval_{pressed.nonce}") or questions.get(
            self._database, f"wait_{pressed.nonce}"
        )

    def _approved(self, work: Work, row: _Row, approval: Approval, pressed: Pressed) -> Told:
        known = chat.by_remote_id(work, row.account, row.remote_id)
        if known is not None:
            return Told(known.reply or _EXPIRED, decided=True)
        answer = pressed.answer
        if answer is None:
            return Told(_EXPIRED)
        self._answering.approvals.answer_in(work, row.user, approval, answer)
        said = done(answer, approval.tool)
        conversation = approval.conversation_id
        chat.add(work, conversation, row.made(buttons.label(answer), ChatKind.COMMAND))
        shown = NewChatMessage(Author.SYSTEM, said, ChatState.SENT, ChatKind.COMMAND)
        chat.add(work, conversation, shown)
        return Told(said, decided=True)

    def _answered(self, work: Work, row: _Row, asked: _Asked, pressed: Pressed) -> Told:
        question, questions = asked.question, self._answering.questions
        choices = question.questions[0]["choices"]
        if len(question.questions) != 1 or pressed.index >= len(choices):
            return Told(_EXPIRED)
        choice = choices[pressed.index]
        told = Told(f"Answered: {choice}", decided=True)
        if chat.by_remote_id(work, row.account, row.remote_id) is not None:
            return told
        if not questions.answer_in(work, row.user, question, choice):
            raise Conflict(_EXPIRED)
        work.after_commit(partial(questions.tell, asked.place, question, row.user, choice))
        chat.add(
            work,
            question.conversation_id,
            row.made(choice, ChatKind.MESSAGE, turn=question.turn_id),
        )
        return told


@dataclass(frozen=True)
class _Asked:
    """A question and the conversation, which is locked, in which it was asked."""

    place: Conversation
    question: Question


@dataclass(frozen=True)
class _Row:
    """What the rows of a press have in common."""

    user: User
    account: str
    remote_id: str

    def made(self, body: str, kind: ChatKind, turn: str | None = None) -> NewChatMessage:
        """Return the row of what the button says, as the person's own."""
        return NewChatMessage(
            Author.USER,
            body,
            ChatState.TAKEN,
            kind,
            user_id=self.user.id,
            account=self.account,
            remote_id=self.remote_id,
            turn_id=turn,
        )
