"""What taking in a message costs, whatever else waits in its session."""

from __future__ import annotations

from contextlib import closing

from sqlalchemy import text
from sqlalchemy.engine.default import DefaultDialect

from habakkuk.conversations.store import acceptance
from habakkuk.db.engine import Database

_CROWDED = text(
    "INSERT INTO jobs (id, kind, queue, serial_key) SELECT 'j' || n, 'turn', 'turns', 's:one'"
    " FROM generate_series(1, 5000) n"
)


def test_messages_that_wait_for_their_turn_are_not_read_for_the_next(database: Database) -> None:
    """Each made the acceptance of all later ones dearer: 1.1 ms at none, 2.5 at 3,000."""
    database.run(_CROWDED)
    sql = str(acceptance._ACCEPT.compile(dialect=DefaultDialect(paramstyle="numeric_dollar")))
    with closing(database.connect_alone("planner")) as connection:
        cursor = connection.cursor()
        cursor.execute("ANALYZE jobs")
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {sql}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "using jobs_waiting" in plan
    assert "using jobs_one_running" in plan
    assert "jobs_key_alive" not in plan
    assert "Seq Scan on jobs" not in plan
