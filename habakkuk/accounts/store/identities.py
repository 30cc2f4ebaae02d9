"""SQL of identities: how channels know people."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.accounts.store.people import read_user
from habakkuk.accounts.types import User
from habakkuk.db.engine import Database

_FIND = text("""
    SELECT u.id, u.name, u.role FROM identities i JOIN users u ON u.id = i.user_id
    WHERE i.channel = :channel AND i.account = :account AND i.external_id = :external_id
""")
# Both or neither: a name that somebody else took meanwhile makes no identity.
_ADD = text("""
    WITH person AS (
        INSERT INTO users (id, name, role) VALUES (:id, :name, :role)
        ON CONFLICT DO NOTHING RETURNING id
    )
    INSERT INTO identities (channel, account, external_id, user_id)
    SELECT :channel, :account, :external_id, id FROM person
    ON CONFLICT DO NOTHING RETURNING user_id
""")

_LINK = text("""
    INSERT INTO identities (channel, account, external_id, user_id)
    VALUES (:channel, :account, :external_id, :user_id)
    ON CONFLICT (channel, account, external_id) DO UPDATE SET user_id = excluded.user_id
""")


def find(database: Database, channel: str, account: str, external_id: str) -> User | None:
    """Return the person whom this account of a channel knows under this id."""
    rows = database.run(_FIND, channel=channel, account=account, external_id=external_id)
    return read_user(rows[0]) if rows else None


def add(database: Database, channel: str, account: str, external_id: str, user: User) -> bool:
    """Store a new person with an identity; False when the name or the id is taken."""
    rows = database.run(
        _ADD,
        channel=channel,
        account=account,
        external_id=external_id,
        id=user.id,
        name=user.name,
        role=user.role,
    )
    return bool(rows)


def link(database: Database, channel: str, account: str, external_id: str, user_id: str) -> None:
    """Make an id this person's, whosever it was."""
    database.run(_LINK, channel=channel, account=account, external_id=external_id, user_id=user_id)
