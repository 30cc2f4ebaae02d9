"""Bring the database to this code's schema, one process at a time."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from habakkuk.db.revision import expected_revision

# Two migrators may start together (two hosts, `up` and an operator): the second one waits.
_LOCK = text("SELECT pg_advisory_xact_lock(7778, 1)")
_TIMEOUTS = text("SELECT set_config('lock_timeout', '10s', true)")
_INI = Path(__file__).parents[2] / "migrations" / "alembic.ini"


def migrate(database_url: str) -> str:
    """Apply what is missing in one transaction and return the revision. Safe to repeat.

    A kill leaves the schema as it was: PostgreSQL rolls DDL back.
    """
    engine = create_engine(database_url)
    try:
        with engine.begin() as connection:
            connection.execute(_LOCK)
            connection.execute(_TIMEOUTS)
            config = Config(str(_INI))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
        return expected_revision()
    finally:
        engine.dispose()


def known_revisions() -> frozenset[str]:
    """Return every revision that this code can bring up to its own."""
    script = ScriptDirectory.from_config(Config(str(_INI)))
    return frozenset(step.revision for step in script.walk_revisions())
