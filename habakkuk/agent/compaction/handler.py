"""A compaction that somebody asked for: a job of the session, so that it runs beside no turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from habakkuk.agent.compaction.summary import NoSummary
from habakkuk.agent.compaction.window import Room, Shortened, Window
from habakkuk.agent.ports import TurnPorts
from habakkuk.conversations.store import addresses, chat, compactions, transcript
from habakkuk.conversations.types import (
    Author,
    ChatKind,
    ChatState,
    NewChatMessage,
    Session,
    Target,
    serial_key,
)
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ConfigurationError, LlmError
from habakkuk.core.ids import random_id
from habakkuk.db.engine import Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job, JobState, NewJob, Queue

COMPACT_KIND = "compact"
_NOTHING = (
    "There is nothing to sum up yet: the last message and its answer always stay as they are."
)


def compaction_job(session_id: str, conversation_id: str, target: Target | None = None) -> NewJob:
    """Return the job that sums a session up, and says so at `target`, too, where there is one."""
    outside = {"target": asdict(target)} if target is not None else {}
    return NewJob(
        random_id("cmp"),
        COMPACT_KIND,
        Queue.TURNS,
        serial_key=serial_key(session_id),
        payload={"session": session_id, "conversation": conversation_id, **outside},
    )


class CompactHandler:
    """The job kind `compact`. Run again after a crash it finds its own record, and says so."""

    kind = COMPACT_KIND
    queue = Queue.TURNS

    def __init__(self, ports: TurnPorts) -> None:
        """Take what turns of this process share."""
        self._ports = ports

    def run(self, context: JobContext) -> None:
        """Sum the session up and say what became of it, in the transaction of the end."""
        payload = context.job.payload
        session = addresses.get_session(context.database, payload["session"])
        if session is None:
            return
        said = self._said(context, session)
        with context.database.transaction() as work:
            self.lock(work, context.job)
            context.finish(work, JobState.DONE)
            _say(work, payload, said)

    def _said(self, context: JobContext, session: Session) -> str:
        if compactions.made_by(context.database, session.id, context.job.id):
            return "The session is summed up."
        with context.database.transaction() as work:
            # What a killed run of this job held of a budget.
            self._ports.release(work, context.job.id)
        try:
            window = self._window(context, session)
            found = window.compact()
        except (NoSummary, LlmError, ConfigurationError) as error:
            return f"The session was not summed up, and nothing of it was left out: {error}"
        return _outcome(found)

    def _window(self, context: JobContext, session: Session) -> Window:
        agent = self._ports.config.agents.get(session.agent, AgentConfig())
        chain, _ = self._ports.models_of(session.agent, session.model)
        fits = self._ports.fits(chain[0], agent)
        labels = {
            "turn": context.job.id,
            "session": session.id,
            "agent": session.agent,
            "user": session.user_id or "",
        }
        room = Room(context, self._ports.models, chain, labels, session.id, fits.limit, fits.takes)
        return Window(room, transcript.from_compaction(context.database, session.id))

    def lock(self, work: Work, job: Job) -> None:
        """Lock the conversation, which comes before the job in the order of locks."""
        addresses.lock_by_id(work, job.payload["conversation"])

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:  # noqa: ARG002 - the port's signature
        """Tell of an end that the run could not write itself."""
        _say(work, job.payload, f"The session was not summed up: {reason}.")


def _outcome(found: Shortened | None) -> str:
    if found is None:
        return _NOTHING
    return f"Summed up: about {found.before:,} tokens are {found.after:,} now."


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
