"""What the database server says of itself, and what its rows no longer name."""

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

# Files are named by what people wrote, by transcripts, by results of tools that are in none yet,
# and by what new sessions of jobs that may still run start with. Whatever is called a blob there
# counts; an index finds the few rows. A tool's output is named by texts of its session, and stays
# while that is there.
_UNNAMED_BLOBS = text("""
    WITH named AS (
        SELECT jsonb_path_query(data, '$.files.**.blob') #>> '{}' AS id FROM chat_messages
        WHERE data ? 'files'
        UNION
        SELECT jsonb_path_query(blocks, '$.**.blob') #>> '{}' FROM messages
        WHERE blocks @> '[{"type": "media"}]'
        UNION
        SELECT jsonb_path_query(result, '$.media.**.blob') #>> '{}' FROM tool_calls
        WHERE result ? 'media'
        UNION
        SELECT jsonb_path_query(payload, '$.seed.**.blob') #>> '{}' FROM jobs
        WHERE payload ? 'seed' AND (state IN ('pending', 'running', 'waiting')
            OR state = 'failed' AND finished IS NOT NULL)
    )
    SELECT b.id FROM blobs b
    WHERE b.stored < now() - :older * interval '1 s'
      AND NOT EXISTS (SELECT FROM named n WHERE n.id = b.id)
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = b.session_id)
    ORDER BY b.stored LIMIT :most
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


def unnamed_blobs(database: Database, older: float, most: int) -> list[str]:
    """Return at most `most` files not stored for `older` seconds that nothing names."""
    return [row.id for row in database.run(_UNNAMED_BLOBS, older=older, most=most)]
