"""SQL of undos: who has a workspace to itself.

A turn and an undo each say in their own row what they do, commit, and only then look for the
other: a turn that its job runs, an undo that it has `begun`. So at least one of two that come at
the same time sees the other. An undo that sees a turn gives up; a turn that sees an undo waits.
"""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.conversations.store import turns
from habakkuk.db.engine import Database, Work

UNDO_KIND = "undo"
# One that begun and whose worker died keeps the workspace until it has gone on.
_HOLDS = text("""
    SELECT 1 FROM jobs
    WHERE kind = 'undo' AND state IN ('pending', 'running') AND payload ->> 'agent' = :agent
      AND (state = 'running' OR payload ? 'begun') LIMIT 1
""")
_BEGIN = text("""
    UPDATE jobs SET payload = payload || CAST('{"begun": true}' AS jsonb) WHERE id = :id
""")
_BEGUN = text("SELECT 1 FROM jobs WHERE id = :id AND payload ? 'begun'")
_FORGET = text("UPDATE jobs SET payload = payload - 'begun' WHERE id = :id")


def begin(work: Work, job_id: str, agent: str) -> bool:
    """Take the agent's workspace for an undo; False when a turn works in it. After guard_change."""
    if turns.runs_for(work, agent):
        return False
    work.execute(_BEGIN, id=job_id)
    return True


def begun(work: Work, job_id: str) -> bool:
    """Return whether an undo has taken its workspace, of which it may have changed a part."""
    return work.execute(_BEGUN, id=job_id).first() is not None


def forget(work: Work, job_id: str) -> None:
    """Let an undo that failed look again before it goes on. Its row must be locked by `work`."""
    work.execute(_FORGET, id=job_id)


def holds(database: Database, agent: str) -> bool:
    """Return whether an undo has the agent's workspace, or is about to look whether it may."""
    return bool(database.run(_HOLDS, agent=agent))
