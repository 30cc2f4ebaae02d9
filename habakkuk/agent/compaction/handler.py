"""A compaction that somebody asked for: a job of the session, so that it runs beside no turn."""

from __future__ import annotations

from habakkuk.agent.asked import AskedHandler
from habakkuk.agent.compaction.summary import NoSummary
from habakkuk.agent.compaction.window import Room, Shortened, Window
from habakkuk.conversations.store import compactions, transcript
from habakkuk.conversations.types import Session
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ConfigurationError, LlmError
from habakkuk.db.engine import Work
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.types import Job

COMPACT_KIND = "compact"
_NOTHING = (
    "There is nothing to sum up yet: the last message and its answer always stay as they are."
)


class CompactHandler(AskedHandler):
    """The job kind `compact`. Run again after a crash it finds its own record, and says so."""

    kind = COMPACT_KIND

    def done(self, context: JobContext, session: Session) -> str:
        """Sum the session up and say how much shorter it is, or why it is not."""
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

    def cut_short(self, work: Work, job: Job, reason: str) -> str:  # noqa: ARG002 - the frame's signature
        """Say that the session is as long as before."""
        return f"The session was not summed up: {reason}."


def _outcome(found: Shortened | None) -> str:
    if found is None:
        return _NOTHING
    return f"Summed up: about {found.before:,} tokens are {found.after:,} now."
