"""How a message comes in, in one round trip, with the turn that answers it and the turn's job.

It writes jobs too, since a turn and its job are one thing.
"""

from __future__ import annotations

from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.store.chat import EARLIER, Earlier
from habakkuk.conversations.types import Acceptance, Accepted
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row


def _waits_in(state: str) -> str:
    # Of one state each, so that the keys of those alone are read: a session may have thousands of
    # messages that wait for their turn.
    return f"""EXISTS (SELECT 1 FROM jobs j JOIN waits w ON w.job_id = j.id
                       WHERE j.serial_key = 's:' || o.session_id
                         AND j.state = '{state}' AND w.resolved_at IS NULL)"""


# What is known locks nothing, so that a repeat has nothing to write, not even a commit. A turn that
# has asked something runs on while other calls of it do.
_ACCEPT = text(f"""
    WITH conv AS MATERIALIZED (
        SELECT id, session_id, agent, next_seq FROM conversations
        WHERE channel = :channel AND account = :account AND chat = :chat AND thread = :thread
          AND CASE WHEN CAST(:session_id AS text) IS NULL THEN agent = ANY(:agents)
              ELSE EXISTS (SELECT 1 FROM sessions s
                           WHERE s.id = :session_id AND s.conversation_id = conversations.id) END
          AND (question IS NULL OR NOT CAST(:answers AS boolean))
          AND NOT EXISTS (SELECT 1 FROM chat_messages m
                          WHERE m.account = :account AND m.remote_id = :remote_id)
        FOR NO KEY UPDATE
    ), msg AS (
        INSERT INTO chat_messages (conversation_id, seq, author, kind, user_id, account, remote_id,
                                   body, data, state, turn_id)
        SELECT c.id, c.next_seq, :author, :message_kind, :user_id, :account, :remote_id, :body,
               CAST(:data AS jsonb), 'queued', :turn_id
        FROM conv c
        ON CONFLICT (account, remote_id) WHERE remote_id IS NOT NULL DO NOTHING
        RETURNING seq
    ), counted AS (
        UPDATE conversations c SET next_seq = c.next_seq + 1, updated = now()
        FROM conv, msg WHERE c.id = conv.id
    ), opened AS (
        SELECT conv.id AS conversation_id, msg.seq,
               coalesce(:session_id, conv.session_id) AS session_id,
               coalesce((SELECT agent FROM sessions WHERE id = :session_id), conv.agent) AS agent
        FROM conv, msg
    ), turn AS (
        INSERT INTO turns (id, session_id, conversation_id, user_id, agent, origin, reply_to,
                           joinable)
        SELECT :turn_id, o.session_id, o.conversation_id, :user_id, o.agent, :origin,
               CAST(:reply_to AS jsonb), :joinable
        FROM opened o WHERE :opens ON CONFLICT (id) DO NOTHING
    ), job AS (
        INSERT INTO jobs (id, kind, queue, serial_key, payload, run_at)
        SELECT :turn_id, :kind, :queue, 's:' || o.session_id, CAST(:payload AS jsonb),
               now() + :delay * interval '1 s'
        FROM opened o WHERE :opens ON CONFLICT (id) DO NOTHING
    )
    SELECT o.conversation_id, o.session_id, o.agent, o.seq, now() AS at,
           {_waits_in("running")} OR {_waits_in("waiting")} AS behind,
           NULL AS turn_id, NULL AS reply
    FROM opened o
    UNION ALL
    SELECT e.conversation_id, e.session_id, NULL, e.seq, NULL, false, e.turn_id, e.reply
    FROM ({EARLIER}) e
""")
# One statement makes the conversation and takes the message. It does nothing where the address is
# not new or the message is known; where its twin at another address is accepted at this very
# moment, an empty conversation is left.
_OPEN = text("""
    WITH conv AS (
        INSERT INTO conversations (id, channel, account, chat, thread, user_id, agent, session_id,
                                   next_seq)
        SELECT :conversation_id, :channel, :account, :chat, :thread, :user_id, :agent,
               :session_id, 2
        WHERE NOT EXISTS (SELECT 1 FROM chat_messages m
                          WHERE m.account = :account AND m.remote_id = :remote_id)
        ON CONFLICT DO NOTHING RETURNING id, session_id
    ), session AS (
        INSERT INTO sessions (id, conversation_id, agent, user_id)
        SELECT c.session_id, c.id, :agent, :user_id FROM conv c
    ), msg AS (
        INSERT INTO chat_messages (conversation_id, seq, author, kind, user_id, account, remote_id,
                                   body, data, state, turn_id)
        SELECT c.id, 1, :author, :message_kind, :user_id, :account, :remote_id,
               :body, CAST(:data AS jsonb), 'queued', :turn_id
        FROM conv c
        ON CONFLICT (account, remote_id) WHERE remote_id IS NOT NULL DO NOTHING
        RETURNING seq
    ), turn AS (
        INSERT INTO turns (id, session_id, conversation_id, user_id, agent, origin, reply_to)
        SELECT :turn_id, c.session_id, c.id, :user_id, :agent, :origin, CAST(:reply_to AS jsonb)
        FROM conv c, msg
    ), job AS (
        INSERT INTO jobs (id, kind, queue, serial_key, payload)
        SELECT :turn_id, :kind, :queue, 's:' || c.session_id, CAST(:payload AS jsonb)
        FROM conv c, msg
    )
    SELECT c.id AS conversation_id, c.session_id, CAST(:agent AS text) AS agent,
           msg.seq, now() AS at, false AS behind
    FROM conv c, msg
""")


def accept(database: Database, asked: Acceptance) -> Accepted | Earlier | None:
    """Accept a message as a transaction of its own, or tell what became of it earlier.

    None: the conversation is not there, has another agent or not that session, may have a question
    that this answers, or the message is being accepted at this very moment; nothing changed.
    """
    row = database.run(_ACCEPT, **_acceptance(asked)).first()
    if row is None:
        return None
    if row.at is None:
        return Earlier(row.conversation_id, row.seq, row.turn_id, row.session_id, row.reply)
    return _accepted(row)


def open_and_accept(
    database: Database, asked: Acceptance, conversation_id: str, session_id: str, agent: str
) -> Accepted | None:
    """Make a conversation with its session and accept its first message, as one transaction.

    For a message that joins nothing. None: the address is not new, or the message is known.
    """
    rows = database.run(
        _OPEN,
        **_acceptance(asked)
        | {"conversation_id": conversation_id, "session_id": session_id, "agent": agent},
    )
    return _accepted(rows[0]) if rows else None


def accept_in(work: Work, asked: Acceptance) -> Accepted | None:
    """Accept a message inside a transaction; None when it is known."""
    row = work.execute(_ACCEPT, **_acceptance(asked)).first()
    return _accepted(row) if row and row.at is not None else None


def _acceptance(asked: Acceptance) -> dict[str, Any]:
    address, message = asked.address, asked.message
    return {
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
        "thread": address.thread,
        "session_id": asked.session_id,
        "agents": list(asked.agents),
        "author": str(message.author),
        "message_kind": str(message.kind),
        "user_id": message.user_id,
        "remote_id": message.remote_id,
        "body": message.body,
        "data": orjson.dumps(message.data).decode(),
        "turn_id": asked.turn_id,
        "origin": asked.origin,
        "reply_to": orjson.dumps(asked.reply_to).decode(),
        "joinable": asked.joinable,
        "opens": asked.opens,
        "kind": asked.kind,
        "queue": asked.queue,
        "payload": orjson.dumps(asked.payload).decode(),
        "delay": asked.delay,
        "answers": asked.answers,
    }


def _accepted(row: Row) -> Accepted:
    place = row.conversation_id, row.session_id, row.seq
    return Accepted(*place, row.agent, row.at, behind=row.behind)
