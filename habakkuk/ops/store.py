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


def server_settings(database: Database) -> Mapping[str, str]:
    """Return the settings that the doctor looks at. Raises DatabaseAway."""
    return {row.name: row.setting for row in database.run(_SETTINGS)}
