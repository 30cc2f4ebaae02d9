"""Whether a text came into a session from outside of its agent, letter for letter."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.db.engine import Database

# A result may repeat what its own call said, which is the agent's word again. Of a user's message
# only what the user wrote: notes are ours, results stand in messages of that role, too.
_MENTIONED = text("""
    SELECT EXISTS (
        SELECT 1 FROM tool_calls
        WHERE session_id = :session_id AND name = ANY(:tools) AND state = 'done'
          AND strpos(result ->> 'text', :text) > 0 AND strpos(CAST(input AS text), :text) = 0
    ) OR EXISTS (
        SELECT 1 FROM messages m, jsonb_array_elements(m.blocks) AS block
        WHERE m.session_id = :session_id AND m.role = 'user' AND block ->> 'type' = 'text'
          AND NOT block ? 'note' AND strpos(block ->> 'text', :text) > 0
    ) AS found
""")


def mentioned(database: Database, session_id: str, tools: Sequence[str], what: str) -> bool:
    """Whether the user, or a result of one of these tools, said `what` in a session."""
    rows = database.run(_MENTIONED, session_id=session_id, tools=list(tools), text=what)
    return bool(rows[0].found)
