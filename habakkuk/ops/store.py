"""What the database server says of itself."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import text

from habakkuk.db.engine import Database

# What durability rests on, and the version as a number such as 180006.
_SETTINGS = text(
    "SELECT name, setting FROM pg_settings WHERE name IN"
    " ('server_version', 'server_version_num', 'fsync', 'full_page_writes', 'synchronous_commit',"
    " 'max_connections')"
)
# Every process of ours names itself; the one that asks is left out.
_OTHERS = text("""
    SELECT DISTINCT application_name FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name LIKE 'habakkuk %' AND application_name <> :own
    ORDER BY application_name
""")
_HAS_TABLES = text("""
    SELECT to_regclass('public.users') IS NOT NULL
       AND to_regclass('public.conversations') IS NOT NULL AS found
""")
_HAS_PEOPLE_OR_WORDS = text("""
    SELECT EXISTS (SELECT FROM users) OR EXISTS (SELECT FROM conversations) AS found
""")


def server_settings(database: Database) -> Mapping[str, str]:
    """Return the settings that the doctor looks at. Raises DatabaseAway."""
    return {row.name: row.setting for row in database.run(_SETTINGS)}


def other_processes(database: Database, own: str) -> list[str]:
    """Return the names of our processes that have this database open, but for `own`."""
    return [row.application_name for row in database.run(_OTHERS, own=own)]


def holds_something(database: Database) -> bool:
    """Whether anybody has ever used this database."""
    if not database.run(_HAS_TABLES)[0].found:
        return False
    return bool(database.run(_HAS_PEOPLE_OR_WORDS)[0].found)
