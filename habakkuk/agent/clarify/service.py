"""Answer questions: once, by the person who was asked or by an owner, on any surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from habakkuk.accounts.types import Role, User
from habakkuk.agent.clarify import store
from habakkuk.agent.clarify.types import Question
from habakkuk.agent.heard import Said, tell_of
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import Author, ChatState, Conversation, NewChatMessage
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.text import clean
from habakkuk.db.engine import Database, Work
from habakkuk.hooks.service import Hooks
from habakkuk.jobs.service import Jobs
from habakkuk.tools.asking import ANSWERED

_OVER = "this was answered already, or its time is over"


class Questions:
    """The questions of this server."""

    def __init__(self, database: Database, jobs: Jobs, hooks: Hooks) -> None:
        """Use the pool, the jobs and the hooks of this process."""
        self._database = database
        self._jobs = jobs
        self._hooks = hooks

    def open(self, user: User) -> Sequence[Question]:
        """Return the open questions that the person may answer, oldest first."""
        return store.open_questions(self._database, None if user.role is Role.OWNER else user.id)

    def get(self, user: User, question_id: str) -> Question:
        """Return a question that the person may answer or answered. Raises NotFound."""
        question = store.get(self._database, question_id)
        if question is None or not user.decides_for(question.user_id):
            raise NotFound(f"there is no question {question_id!r}")
        return question

    def answer(self, user: User, question_id: str, text: str) -> Question:
        """Answer a question; the answer stands in the chat as the person's message.

        Raises NotFound for another's question, Invalid for an empty answer and Conflict when it
        has been answered or its time is over.
        """
        question, said = self.get(user, question_id), clean(text)
        if not said.strip():
            raise Invalid("the answer is empty")
        with self._database.transaction() as work:
            found = addresses.lock_by_id(work, question.conversation_id)
            if found is None or not self.answer_in(work, user, question, said):
                raise Conflict(_OVER)
            row = NewChatMessage(
                Author.USER, said, ChatState.TAKEN, user_id=user.id, turn_id=question.turn_id
            )
            chat.add(work, question.conversation_id, row)
        self.tell(found, question, user, said)
        return replace(question, outcome=ANSWERED)

    def tell(self, place: Conversation, question: Question, user: User, text: str) -> None:
        """Tell the hooks of an answer that is stored."""
        tell_of(self._hooks, Said(place.address, place.id, question.turn_id, user.id, text))

    def answer_in(self, work: Work, user: User, question: Question, text: str) -> bool:
        """Answer inside a transaction that holds the conversation's lock; False when it is over.

        The caller writes the row of the answer, and tells the hooks of it.
        """
        store.name(work, question.conversation_id, None)
        return self._jobs.resolve(work, question.id, ANSWERED, {"by": user.id, "text": text})
