"""SQL of people."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import text

from habakkuk.accounts.types import Person, Role, User
from habakkuk.db.engine import Database
from habakkuk.db.statements import Row

_ADD_OWNER = text(
    "INSERT INTO users (id, name, role) VALUES (:id, :name, 'owner') ON CONFLICT DO NOTHING"
)
_OWNER = text("SELECT id, name, role FROM users WHERE role = 'owner'")
_ADD = text("""
    INSERT INTO users (id, name, role) VALUES (:id, :name, :role) ON CONFLICT DO NOTHING
    RETURNING id
""")
_FIND = text("SELECT id, name, role FROM users WHERE name = :name")
_LIST = text("""
    SELECT u.id, u.name, u.role, u.created, u.password IS NOT NULL AS has_password, (
        SELECT max(s.seen) FROM web_sessions s WHERE s.user_id = u.id
    ) AS seen
    FROM users u ORDER BY u.created, u.id
""")
_SET_ROLE = text("UPDATE users SET role = :role WHERE id = :id AND role <> 'owner' RETURNING id")
_REMOVE = text("DELETE FROM users WHERE id = :id AND role <> 'owner' RETURNING id")


def ensure_owner(database: Database, user_id: str, name: str) -> User:
    """Return the owner, made now when there is none."""
    rows = database.run(_OWNER)
    if not rows:
        database.run(_ADD_OWNER, id=user_id, name=name)
        rows = database.run(_OWNER)
    return read_user(rows[0])


def add(database: Database, user: User) -> bool:
    """Store a new person; False when the name is taken."""
    return bool(database.run(_ADD, id=user.id, name=user.name, role=user.role))


def find(database: Database, name: str) -> User | None:
    """Return the person of this name."""
    rows = database.run(_FIND, name=name)
    return read_user(rows[0]) if rows else None


def listed(database: Database) -> Sequence[Person]:
    """Return everybody, oldest first."""
    return [
        Person(read_user(row), row.created, row.seen, row.has_password)
        for row in database.run(_LIST)
    ]


def set_role(database: Database, user_id: str, role: Role) -> bool:
    """Change the role of a person who is not the owner; False when there is none."""
    return bool(database.run(_SET_ROLE, id=user_id, role=role))


def remove(database: Database, user_id: str) -> bool:
    """Remove a person who is not the owner, with tokens and logins; False when there is none."""
    return bool(database.run(_REMOVE, id=user_id))


def read_user(row: Row) -> User:
    """Return the person of a row."""
    return User(row.id, row.name, Role(row.role))
