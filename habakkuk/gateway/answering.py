"""Messages that answer what is open in their conversation, and what is said of those that wait."""

from __future__ import annotations

from dataclasses import dataclass, replace

from habakkuk.agent.approval import store as approvals
from habakkuk.agent.approval import words
from habakkuk.agent.approval.service import Approvals, read_words
from habakkuk.agent.approval.types import AGAIN, Answer
from habakkuk.agent.clarify import service as clarify
from habakkuk.agent.clarify import store as questions
from habakkuk.agent.clarify.types import Question
from habakkuk.conversations.store import chat
from habakkuk.conversations.types import Conversation, NewChatMessage
from habakkuk.db.engine import Work
from habakkuk.gateway import rows
from habakkuk.gateway.types import Admitted, Inbound

_DONE = {Answer.ONCE: "Allowed once", Answer.SESSION: "Allowed", Answer.DENY: "Not allowed"}
# What comes sooner after a question was not meant for it: nobody can have read it.
_READING_SECONDS = 1.0
_WAITS = (
    "Your message is kept and comes after the open question. Answer that with yes or no, or end it"
    " with /stop."
)
_WAITS_FOR_WORDS = (
    "Your message is kept and comes after the open question. Answer that with another message, or"
    " end it with /stop."
)
_MEANT = (
    "Something older waits for a yes or no: {line} If you meant that, say it once more. What is"
    " meant for the agent needs more than that word."
)


@dataclass(frozen=True)
class Answering:
    """Takes a message as the answer to what is open, in a transaction that holds the lock."""

    approvals: Approvals
    questions: clarify.Questions

    @staticmethod
    def words(inbound: Inbound) -> tuple[Answer, str] | None:
        """Return what a message says to an approval; None when it is none of its words."""
        answers = inbound.commands and inbound.approves and not inbound.file_count
        return read_words(inbound.text) if answers else None

    def approval(
        self, work: Work, conversation: Conversation, inbound: Inbound, said: tuple[Answer, str]
    ) -> Admitted | None:
        """Take a yes or no as the answer to the open approval here; None when it is a message.

        With several open it answers the oldest, which is the one that is shown. One of this very
        moment cannot have been read: what was said is about another. Where an agent has spoken
        since, of another session, a yes may be meant for that: nothing is allowed by mistake.
        """
        shown = approvals.open_in(work, conversation.id, _READING_SECONDS)
        asked = [approval for approval in shown if inbound.user.decides_for(approval.user_id)]
        if not asked:
            return None
        question = self._question(work, conversation, inbound)
        if question is not None and question.created < asked[0].created:
            return None
        if approvals.talked_past(work, asked[0]):
            reply = _MEANT.format(line=words.asked(asked[0].agent, asked[0].tool))
            row = replace(rows.reply_row(inbound, reply), data={AGAIN: asked[0].id})
        else:
            self.approvals.answer_in(work, inbound.user, asked[0], *said)
            reply = done(said[0], asked[0].tool)
            row = rows.reply_row(inbound, reply)
        seq = chat.add(work, conversation.id, rows.command_row(inbound))
        chat.add(work, conversation.id, row)
        return Admitted(conversation.id, conversation.session_id, seq or 0, None, reply)

    def question(self, work: Work, conversation: Conversation, inbound: Inbound) -> Admitted | None:
        """Take any text as the answer to the open question here; None when it is a message."""
        if not rows.may_be_answer(inbound):
            return None
        question = self._question(work, conversation, inbound)
        if question is None:
            return None
        if not self.questions.answer_in(work, inbound.user, question, inbound.text):
            return None
        seq = chat.add(work, conversation.id, rows.answer_row(inbound, question.turn_id))
        session = question.session_id
        return Admitted(conversation.id, session, seq or 0, question.turn_id, answers=True)

    @staticmethod
    def _question(work: Work, conversation: Conversation, inbound: Inbound) -> Question | None:
        """Return the question that the message can answer: of its session and person, read.

        What is asked beside the session was asked of who writes here, too.
        """
        found = questions.open_in(work, conversation.id, _READING_SECONDS)
        if found is None:
            questions.name(work, conversation.id, None)
            return None
        question, read = found
        session = inbound.session_id or conversation.session_id
        beside = question.aside and inbound.session_id is None
        fits = read and (beside or question.session_id == session)
        return question if fits and inbound.user.decides_for(question.user_id) else None

    @staticmethod
    def notice(work: Work, inbound: Inbound, admitted: Admitted) -> NewChatMessage | None:
        """Return what to say of a message that waits behind something open; None for nothing.

        Its own turn may have begun and asked by now: it does not wait for that.
        """
        conversation, turn = admitted.conversation_id, admitted.turn_id
        asked = approvals.open_in(work, conversation, 0)
        if any(approval.turn_id != turn for approval in asked):
            return rows.notice_row(inbound, _WAITS)
        found = questions.open_in(work, conversation)
        if found is None or found[0].turn_id == turn:
            return None
        return rows.notice_row(inbound, _WAITS_FOR_WORDS)


def done(answer: Answer, tool: str) -> str:
    """Return what is said of an approval that was answered so."""
    return f"{_DONE[answer]}: {tool}."
