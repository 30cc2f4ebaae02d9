"""What is said in a conversation outside: a delivery and its job, written with the chat row.

The parts here complete a statement that writes a chat row, so that row, delivery and job stand or
fall together. The delivery's id comes from the row, so that no rerun makes a second one.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.conversations.files import FILES
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage, Target
from habakkuk.db.engine import Work

# A day of tries, of which each waits for half of five minutes on average; then the answer is of no
# use any more.
_TRIES = 600
# What a delivery needs to know of its row.
_DELIVERED = frozenset({"approval", "question", "poll", FILES})
# To follow the last CTE of a statement; `said` gives conversation_id, seq and turn_id.
DELIVERY = f"""
    , going AS (
        INSERT INTO deliveries (id, conversation_id, turn_id, body)
        SELECT 'dl_' || s.conversation_id || '_' || s.seq, s.conversation_id, s.turn_id,
               CAST(:going AS jsonb)
        FROM ({{said}}) s
        RETURNING id, conversation_id
    ), sending AS (
        INSERT INTO jobs (id, kind, queue, serial_key, max_attempts)
        SELECT g.id, 'delivery', :going_by, 'd:' || g.conversation_id, {_TRIES} FROM going g
        RETURNING id, queue
    )
"""
# A column of the last SELECT: a part that nothing reads would not be run.
WAKE = "(SELECT count(pg_notify('hab_wake', s.queue || ' ' || s.id)) FROM sending s) AS woken"
_TELL = text(f"""
    WITH going AS (
        INSERT INTO deliveries (id, body) VALUES (:id, CAST(:going AS jsonb))
        ON CONFLICT DO NOTHING RETURNING id
    ), sending AS (
        INSERT INTO jobs (id, kind, queue, serial_key, max_attempts)
        SELECT g.id, 'delivery', :going_by, 'd:' || :conversation_id, {_TRIES} FROM going g
        RETURNING id, queue
    )
    SELECT {WAKE}
""")
# With a key of its own: the chat's answers do not wait for it.
_PUT_OFF = text(f"""
    WITH going AS (
        INSERT INTO deliveries (id, conversation_id, turn_id, body)
        SELECT :id, t.conversation_id, t.id, CAST(:body AS jsonb) FROM turns t WHERE t.id = :turn_id
        ON CONFLICT DO NOTHING RETURNING id
    ), sending AS (
        INSERT INTO jobs (id, kind, queue, serial_key, max_attempts, run_at)
        SELECT g.id, 'delivery', :queue, 'd:' || g.id, {_TRIES},
               clock_timestamp() + :wait * interval '1 s'
        FROM going g
    )
    UPDATE turns SET draft = NULL WHERE id = :turn_id AND draft = :draft
""")


def tell(work: Work, delivery_id: str, conversation_id: str, target: Target, said: str) -> None:
    """Say something outside that stands in no conversation; nothing when the id is known.

    It goes out in its turn with what the conversation of this id, which need not exist, says.
    """
    row = NewChatMessage(Author.SYSTEM, said, ChatState.SENT, ChatKind.NOTICE, target=target)
    work.execute(_TELL, id=delivery_id, conversation_id=conversation_id, **parameters(row))


def put_off_removal(
    work: Work, delivery_id: str, turn_id: str, target: Target, draft: str, wait: float
) -> None:
    """Have a message of progress taken away in `wait` seconds, by a delivery that says nothing."""
    body = {"target": asdict(target), "text": "", "kind": "draft", "data": {"draft": draft}}
    written = orjson.dumps(body).decode()
    asked = {"id": delivery_id, "turn_id": turn_id, "queue": target.queue}
    work.execute(_PUT_OFF, **asked, body=written, draft=draft, wait=wait)


def parameters(message: NewChatMessage) -> dict[str, Any]:
    """Return the parameters of a message with a target."""
    target = message.target
    assert target is not None, "what goes nowhere is not delivered"  # noqa: S101 - a programmer's error
    body = {
        "target": asdict(target),
        "text": message.outside or _text(message),
        "kind": _kind(message),
        "data": {k: v for k, v in message.data.items() if k in _DELIVERED},
        "buttons": message.buttons,
    }
    return {"going": orjson.dumps(body).decode(), "going_by": target.queue}


def _text(message: NewChatMessage) -> str:
    """Return the answer with what Habakkuk says beside it."""
    notice = message.data.get("notice")
    return f"{message.body}\n\n{notice}" if notice else message.body


def _kind(message: NewChatMessage) -> str:
    return "answer" if message.kind is ChatKind.MESSAGE else str(message.kind)
