"""An undo that somebody asked for."""

from __future__ import annotations

from habakkuk.agent.asked import AskedHandler
from habakkuk.agent.undo import store
from habakkuk.conversations.types import Session
from habakkuk.core.errors import ToolError
from habakkuk.db.engine import Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job
from habakkuk.tools.checkpoints.service import Undo, undo_id
from habakkuk.tools.checkpoints.types import Kind, Label, NoCheckpoint

_NOTHING = "There is nothing to undo: no turn of this conversation changed the workspace."
_WORKS = (
    "Nothing was undone: a turn works in this workspace just now. /undo again when it has ended."
)


class UndoHandler(AskedHandler):
    """The job kind `undo`. Run again after a crash it goes to where it went first."""

    kind = store.UNDO_KIND

    def done(self, context: JobContext, session: Session) -> str:
        """Bring the workspace back and say what changed, when no turn works in it."""
        if not self._begun(context):
            return _WORKS
        payload, job = context.job.payload, context.job
        agent = payload["agent"]
        label = Label(undo_id(job.id), Kind.UNDO, session.id, payload["conversation"])
        try:
            done = self._ports.checkpoints.undo(agent, label, context.interrupt)
        except (NoCheckpoint, ToolError) as error:
            return f"Nothing was undone: {error}"
        problem = self._ports.checkpoints.problem(agent)
        note = f"\nBut the newest turn that changed it had {problem}" if problem else ""
        return _told(done) + note

    def _begun(self, context: JobContext) -> bool:
        """Take the workspace; one that had it when its worker died has it still."""
        job = context.job
        if job.payload.get("begun"):
            return True
        context.failpoints.hit("undo.begin.before")
        with context.database.transaction() as work:
            context.guard_change(work)
            begun = store.begin(work, job.id, job.payload["agent"])
        context.failpoints.hit("undo.begin.after")
        return begun

    def reopen(self, work: Work, job: Job) -> None:
        """Let one that failed look anew who works there: turns may have begun since."""
        store.forget(work, job.id)

    def cut_short(self, work: Work, job: Job, reason: str) -> str:
        """Say what the workspace is now, which only its checkpoints tell."""
        # Whoever ends its run has the row as it was before it began.
        if not store.begun(work, job.id):
            return f"Nothing was undone: {reason}."
        return (
            f"The undo was cut short: {reason}. A part of it may be done; `habakkuk checkpoints`"
            " lists the states that `habakkuk rollback` brings back."
        )


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
