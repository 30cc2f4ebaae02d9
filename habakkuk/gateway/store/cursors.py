"""SQL of where each intake stands, stored with what it admitted."""

from __future__ import annotations

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import Address
from habakkuk.db.engine import Work
from habakkuk.gateway.types import Cursor

_SAVE = text("""
    INSERT INTO channel_state (channel, account, name, value)
    VALUES (:channel, :account, :name, CAST(:value AS jsonb))
    ON CONFLICT (channel, account, name) DO UPDATE SET value = excluded.value, updated = now()
""")


def save(work: Work, address: Address, cursor: Cursor) -> None:
    """Store the intake's position in the transaction of its message."""
    work.execute(
        _SAVE,
        channel=address.channel,
        account=address.account,
        name=cursor.name,
        value=orjson.dumps(cursor.value).decode(),
    )
