"""Which schema a database has and which this code needs, without the migrator's libraries."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import text

from habakkuk.db.engine import Database

_VERSIONS = Path(__file__).parents[2] / "migrations" / "versions"
# Alembic's own table; an empty one is what a downgrade to nothing leaves.
_KNOWN = text("SELECT to_regclass('alembic_version') IS NOT NULL AS known")
_CURRENT = text("SELECT version_num FROM alembic_version")


def expected_revision() -> str:
    """Return the revision that this code needs: the newest file's, whose name begins with it."""
    return max(path.name.partition("_")[0] for path in _VERSIONS.glob("[0-9]*_*.py"))


def current_revision(database_url: str) -> str | None:
    """Return the revision that the database has, None when it was never migrated.

    Raises DatabaseAway.
    """
    database = Database(database_url, pool_size=1, name="habakkuk schema")
    try:
        if not database.run(_KNOWN)[0].known:
            return None
        rows = database.run(_CURRENT)
        return str(rows[0].version_num) if rows else None
    finally:
        database.dispose()
