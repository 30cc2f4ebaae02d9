"""An undo that somebody asked for: a job of the session, so that it runs beside no turn of it."""

from __future__ import annotations

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
    Target,
    serial_key,
)
from habakkuk.core.errors import ToolError
from habakkuk.core.ids import random_id
from habakkuk.db.engine import Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job, JobState, NewJob, Queue
from habakkuk.tools.checkpoints.service import Undo, undo_id
from habakkuk.tools.checkpoints.types import Kind, Label, NoCheckpoint

UNDO_KIND = "undo"
_NOTHING = "There is nothing to undo: no turn of this conversation changed the workspace."


def undo_job(conversation: Conversation, target: Target | None = None) -> NewJob:
    """Return the job that takes back what the conversation's latest turn changed."""
    outside = {"target": asdict(target)} if target is not None else {}
    return NewJob(
        random_id("und"),
        UNDO_KIND,
        Queue.TURNS,
        serial_key=serial_key(conversation.session_id),
        payload={
            "session": conversation.session_id,
            "conversation": conversation.id,
            "agent": conversation.agent,
            **outside,
        },
    )


class UndoHandler:
    """The job kind `undo`. Run again after a crash it goes to where it went first."""

    kind = UNDO_KIND
    queue = Queue.TURNS

    def __init__(self, ports: TurnPorts) -> None:
        """Take what turns of this process share."""
        self._ports = ports

    def run(self, context: JobContext) -> None:
        """Bring the workspace back and say what changed, in the transaction of the end."""
        payload = context.job.payload
        said = self._said(context)
        context.failpoints.hit("undo.restore.after")
        with context.database.transaction() as work:
            self.lock(work, context.job)
            context.finish(work, JobState.DONE)
            _say(work, payload, said)

    def _said(self, context: JobContext) -> str:
        payload, job = context.job.payload, context.job
        agent = payload["agent"]
        label = Label(undo_id(job.id), Kind.UNDO, payload["session"], payload["conversation"])
        try:
            done = self._ports.checkpoints.undo(agent, label, context.interrupt)
        except (NoCheckpoint, ToolError) as error:
            return f"Nothing was undone: {error}"
        problem = self._ports.checkpoints.problem(agent)
        note = f"\nBut the newest turn that changed it had {problem}" if problem else ""
        return _told(done) + note

    def lock(self, work: Work, job: Job) -> None:
        """Lock the conversation, which comes before the job in the order of locks."""
        addresses.lock_by_id(work, job.payload["conversation"])

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:  # noqa: ARG002 - the port's signature
        """Tell of an end that the run could not write itself."""
        _say(work, job.payload, f"The undo was cut short: {reason}. /undo again finishes it.")


def _told(undone: Undo) -> str:
    if undone.to is None:
        return _NOTHING
    label = undone.to.label
    request = f' ("{label.request}")' if label.request else ""
    lines = [f"The workspace is as it was before the latest turn that changed it{request}."]
    if undone.done.stat:
        lines += ["", f"```\n{undone.done.stat}\n```"]
    lines += [f"Left alone: {one}" for one in undone.done.left]
    lines.append("The agent does not know; tell it if it should. /undo again goes further back.")
    return "\n".join(lines)


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
