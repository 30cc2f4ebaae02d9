"""Ask whether PostgreSQL answers."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Database, DatabaseAway

_ALIVE = text("SELECT 1")


def ping_away(database: Database) -> bool:
    """Ask the server; True when it does not answer."""
    try:
        database.run(_ALIVE)
    except DatabaseAway:
        return True
    return False
