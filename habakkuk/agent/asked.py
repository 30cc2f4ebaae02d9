"""What somebody asked of a session beside its turns.

A job of the session, so that it runs beside no turn of it; what became of it is said in the chat.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from habakkuk.agent.ports import TurnPorts
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    Conversation,
    NewChatMessage,
    Session,
    Target,
    serial_key,
)
from habakkuk.core.ids import random_id
from habakkuk.db.engine import Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job, JobState, NewJob, Queue

_MARK_LENGTH = 3


def asked_job(kind: str, conversation: Conversation, target: Target | None = None) -> NewJob:
    """Return the job of a kind for the conversation's session.

    What becomes of it is said in the conversation, and at `target`, too, where there is one.
    """
    outside = {"target": asdict(target)} if target is not None else {}
    return NewJob(
        random_id(kind[:_MARK_LENGTH]),
        kind,
        Queue.TURNS,
        serial_key=serial_key(conversation.session_id),
        payload={
            "session": conversation.session_id,
            "conversation": conversation.id,
            "agent": conversation.agent,
            **outside,
        },
    )


class AskedHandler(ABC):
    """A job kind of these. A subclass implements `kind`, `done` and `cut_short`."""

    queue = Queue.TURNS

    def __init__(self, ports: TurnPorts) -> None:
        """Take what turns of this process share."""
        self._ports = ports

    @property
    @abstractmethod
    def kind(self) -> str:
        """The kind, as stored."""

    @abstractmethod
    def done(self, context: JobContext, session: Session) -> str:
        """Do it and return what to say of it. Run again after a crash it must find its place."""

    @abstractmethod
    def cut_short(self, work: Work, job: Job, reason: str) -> str:
        """Return what to say of an end that the run could not write itself."""

    def run(self, context: JobContext) -> None:
        """Do it, and say what became of it in the transaction of the end."""
        session = addresses.get_session(context.database, context.job.payload["session"])
        if session is None:
            # Removed with its conversation: there is nobody left to tell.
            return
        said = self.done(context, session)
        context.failpoints.hit("asked.done.after")
        with context.database.transaction() as work:
            self.lock(work, context.job)
            context.finish(work, JobState.DONE)
            _say(work, context.job.payload, said)

    def lock(self, work: Work, job: Job) -> None:
        """Lock the conversation, which comes before the job in the order of locks."""
        addresses.lock_by_id(work, job.payload["conversation"])

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:  # noqa: ARG002 - the port's signature
        """Tell of an end that the run could not write itself."""
        _say(work, job.payload, self.cut_short(work, job, reason))


def _say(work: Work, payload: Mapping[str, Any], body: str) -> None:
    """Say what became of it where it was asked for."""
    outside = payload.get("target")
    row = NewChatMessage(
        Author.SYSTEM,
        body,
        ChatState.SENT,
        ChatKind.NOTICE,
        target=Target(**outside) if outside else None,
    )
    chat.add(work, payload["conversation"], row)
