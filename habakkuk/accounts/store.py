"""SQL of people and tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Row, text

from habakkuk.accounts.types import ApiToken, Principal, Role, Scope, User
from habakkuk.db.engine import Database

_ADD_OWNER = text(
    "INSERT INTO users (id, name, role) VALUES (:id, :name, 'owner') ON CONFLICT DO NOTHING"
)
_OWNER = text("SELECT id, name, role FROM users WHERE role = 'owner'")
_ADD_TOKEN = text("""
    INSERT INTO api_tokens (id, user_id, name, hash, scopes)
    VALUES (:id, :user_id, :name, :hash, :scopes)
""")
# last_used moves once a minute at most: a write a request would be the costliest part of it.
_AUTHENTICATE = text("""
    WITH token AS (
        SELECT t.id, t.scopes, t.last_used, u.id AS user_id, u.name, u.role
        FROM api_tokens t JOIN users u ON u.id = t.user_id
        WHERE t.hash = :hash AND t.revoked IS NULL
    ), touched AS (
        UPDATE api_tokens SET last_used = now() FROM token
        WHERE api_tokens.id = token.id
          AND (token.last_used IS NULL OR token.last_used < now() - interval '1 minute')
    )
    SELECT user_id, name, role, scopes FROM token
""")
_LIST = text("""
    SELECT id, name, scopes, created, last_used, revoked FROM api_tokens ORDER BY created, id
""")
_REVOKE = text("""
    UPDATE api_tokens SET revoked = now() WHERE (id = :which OR name = :which) AND revoked IS NULL
    RETURNING id
""")


def ensure_owner(database: Database, user_id: str, name: str) -> User:
    """Return the owner, made now when there is none."""
    rows = database.run(_OWNER)
    if not rows:
        database.run(_ADD_OWNER, id=user_id, name=name)
        rows = database.run(_OWNER)
    return _user(rows[0])


def add_token(database: Database, token: ApiToken, user_id: str, digest: bytes) -> None:
    """Store a new token by its digest."""
    database.run(
        _ADD_TOKEN,
        id=token.id,
        user_id=user_id,
        name=token.name,
        hash=digest,
        scopes=list(token.scopes),
    )


def authenticate(database: Database, digest: bytes) -> Principal | None:
    """Return who holds the token with this digest, None when nobody does."""
    rows = database.run(_AUTHENTICATE, hash=digest)
    if not rows:
        return None
    row = rows[0]
    user = User(row.user_id, row.name, Role(row.role))
    return Principal(user, frozenset(Scope(scope) for scope in row.scopes))


def list_tokens(database: Database) -> Sequence[ApiToken]:
    """Return every token, oldest first."""
    return [
        ApiToken(r.id, r.name, tuple(r.scopes), r.created, r.last_used, r.revoked)
        for r in database.run(_LIST)
    ]


def revoke(database: Database, which: str) -> int:
    """Revoke by id or name; return how many tokens that ended."""
    return len(database.run(_REVOKE, which=which))


def _user(row: Row[Any]) -> User:
    return User(row.id, row.name, Role(row.role))
