"""SQL of API tokens."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.accounts.types import ApiToken, Role, Scope, User
from habakkuk.db.engine import Database

_ADD = text("""
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
    SELECT t.id, t.name, t.scopes, t.created, t.last_used, t.revoked, u.name AS user
    FROM api_tokens t JOIN users u ON u.id = t.user_id ORDER BY t.created, t.id
""")
_REVOKE = text("""
    UPDATE api_tokens SET revoked = now() WHERE (id = :which OR name = :which) AND revoked IS NULL
    RETURNING id
""")


def add(database: Database, token: ApiToken, user_id: str, digest: bytes) -> None:
    """Store a new token by its digest."""
    database.run(
        _ADD,
        id=token.id,
        user_id=user_id,
        name=token.name,
        hash=digest,
        scopes=list(token.scopes),
    )


def authenticate(database: Database, digest: bytes) -> tuple[User, frozenset[Scope]] | None:
    """Return who holds the token with this digest and its scopes, None when nobody does."""
    rows = database.run(_AUTHENTICATE, hash=digest)
    if not rows:
        return None
    row = rows[0]
    user = User(row.user_id, row.name, Role(row.role))
    return user, frozenset(Scope(scope) for scope in row.scopes)


def listed(database: Database) -> Sequence[ApiToken]:
    """Return every token, oldest first."""
    return [
        ApiToken(r.id, r.name, tuple(r.scopes), r.created, r.last_used, r.revoked, r.user)
        for r in database.run(_LIST)
    ]


def revoke(database: Database, which: str) -> int:
    """Revoke by id or name; return how many tokens that ended."""
    return len(database.run(_REVOKE, which=which))
