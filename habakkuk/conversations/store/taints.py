"""Which files of a workspace were written by turns that had read content from outside.

Whoever reads one reads that content again, in another turn, to which it is as foreign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import text

from habakkuk.db.engine import Database, Work

# Marked before the file is written, so that a crash between the two leaves a mark too many.
_MARK = text("""
    INSERT INTO tainted_files (agent, path)
    SELECT :agent, path FROM unnest(CAST(:paths AS text[])) AS path
    WHERE (SELECT tainted FROM turns WHERE id = :turn_id)
       OR EXISTS (SELECT 1 FROM tainted_files f
                  WHERE f.agent = :agent AND f.path = ANY(CAST(:paths AS text[])))
    ON CONFLICT (agent, path) DO UPDATE SET written = now()
""")
# Of what lies in a folder only what the result shows counts.
_TAINT_READER = text("""
    UPDATE turns SET tainted = true WHERE id = :turn_id AND NOT tainted AND EXISTS (
        SELECT 1 FROM tainted_files f, unnest(CAST(:paths AS text[])) AS p
        WHERE f.agent = :agent AND (
            f.path = p
            OR (starts_with(f.path, CASE p WHEN '/' THEN p ELSE p || '/' END)
                AND strpos(:shown, regexp_replace(f.path, '^.*/', '')) > 0)))
""")
_PRUNE = text("DELETE FROM tainted_files WHERE written < now() - :seconds * interval '1 s'")


@dataclass(frozen=True)
class Touched:
    """Paths in an agent's workspace, from the root on and without detours, and whose turn it is."""

    agent: str
    turn_id: str
    paths: Sequence[str]


def mark(work: Work, touched: Touched) -> None:
    """Mark files that are about to be written, if the turn has read content from outside.

    So are all of one call of which one is marked: it may move or copy that to the others.
    """
    work.defer(_MARK, agent=touched.agent, turn_id=touched.turn_id, paths=list(touched.paths))


def taint_reader(work: Work, touched: Touched, shown: str) -> None:
    """Note that a turn has read content from outside, if it has read a file that was marked.

    `shown` is what it was shown of these paths.
    """
    work.defer(
        _TAINT_READER,
        agent=touched.agent,
        turn_id=touched.turn_id,
        paths=list(touched.paths),
        shown=shown,
    )


def prune(database: Database, seconds: float) -> int:
    """Forget marks that are older; return how many."""
    return database.run(_PRUNE, seconds=seconds).changed
