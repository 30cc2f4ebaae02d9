"""SQL of how long a conversation has been quiet, and of who spoke last in it."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.conversations.types import Address
from habakkuk.db.engine import Database, Work

# A turn that runs is not quiet, and a session in which nothing was asked is fresh already.
_IDLE = text("""
    SELECT 1 FROM conversations c
    WHERE c.id = :conversation_id
      AND c.updated < clock_timestamp() - CAST(:seconds AS double precision) * interval '1 s'
      AND EXISTS (SELECT 1 FROM turns t WHERE t.session_id = c.session_id)
      AND NOT EXISTS (SELECT 1 FROM turns t
                      WHERE t.session_id = c.session_id AND t.ended IS NULL)
""")
# All threads of a chat count together: where each message opens a thread of its own, as in Slack's
# channels, two programs would else never meet in one.
_BOTS = text("""
    SELECT count(*) AS bots FROM (
        SELECT created, bool_and(bot) OVER (ORDER BY created DESC, seq DESC) AS unbroken
        FROM (SELECT said.seq, said.created, said.bot
              FROM conversations c CROSS JOIN LATERAL (
                  SELECT seq, created, data ? 'bot' AS bot FROM chat_messages
                  WHERE conversation_id = c.id AND author = 'user'
                  ORDER BY seq DESC LIMIT :most) said
              WHERE c.channel = :channel AND c.account = :account AND c.chat = :chat
              ORDER BY said.created DESC, said.seq DESC LIMIT :most) newest
    ) heard
    WHERE unbroken AND created > clock_timestamp() - :seconds * interval '1 s'
""")


def idle(work: Work, conversation_id: str, seconds: float) -> bool:
    """Whether nothing was said for so long where something was. The conversation is locked."""
    found = work.execute(_IDLE, conversation_id=conversation_id, seconds=seconds)
    return found.first() is not None


def bots_in_a_row(database: Database, place: Address, most: int, seconds: float) -> int:
    """Return how many of a chat's last messages were programs' with no person's since.

    At most `most`; those older than `seconds` do not count, and threads are not told apart.
    """
    (row,) = database.run(
        _BOTS,
        channel=place.channel,
        account=place.account,
        chat=place.chat,
        most=most,
        seconds=seconds,
    )
    return int(row.bots)
