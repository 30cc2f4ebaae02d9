"""SQL of login links, web sessions and passwords. Secrets come here as digests only."""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.accounts.store.people import read_user
from habakkuk.accounts.types import User
from habakkuk.db.engine import Database
from habakkuk.db.statements import Row

_ADD_LINK = text("""
    WITH swept AS (
        DELETE FROM login_links WHERE expires < now() - interval '1 day'
    )
    INSERT INTO login_links (hash, user_id, expires)
    VALUES (:hash, :user_id, now() + make_interval(secs => :seconds))
""")
# One statement: a link opens one session, whoever else comes with it at the same moment.
_USE_LINK = text("""
    WITH link AS (
        UPDATE login_links SET used = now()
        WHERE hash = :link AND used IS NULL AND expires > now()
        RETURNING user_id
    ), opened AS (
        INSERT INTO web_sessions (hash, user_id, expires)
        SELECT :session, user_id, now() + make_interval(days => :days) FROM link
    )
    SELECT u.id, u.name, u.role FROM link JOIN users u ON u.id = link.user_id
""")
_OPEN = text("""
    WITH swept AS (
        DELETE FROM web_sessions WHERE expires < now()
    )
    INSERT INTO web_sessions (hash, user_id, expires)
    VALUES (:session, :user_id, now() + make_interval(days => :days))
""")
# seen moves once an hour at most, for the same reason as a token's last_used.
_SESSION = text("""
    WITH found AS (
        SELECT s.hash, s.seen, s.created, u.id, u.name, u.role
        FROM web_sessions s JOIN users u ON u.id = s.user_id
        WHERE s.hash = :session AND s.expires > now()
    ), touched AS (
        UPDATE web_sessions
        SET seen = now(), expires = least(
            now() + make_interval(days => :days), found.created + make_interval(days => :longest)
        )
        FROM found
        WHERE web_sessions.hash = found.hash AND found.seen < now() - interval '1 hour'
    )
    SELECT id, name, role FROM found
""")
_CLOSE = text("DELETE FROM web_sessions WHERE hash = :session")
_CLOSE_ALL = text("""
    WITH links AS (
        DELETE FROM login_links WHERE user_id = :user_id
    )
    DELETE FROM web_sessions WHERE user_id = :user_id
""")
_SET_PASSWORD = text("""
    WITH changed AS (
        UPDATE users SET password = :password WHERE id = :user_id
    ), links AS (
        DELETE FROM login_links WHERE user_id = :user_id
    )
    DELETE FROM web_sessions WHERE user_id = :user_id
""")
_PASSWORD = text("SELECT id, name, role, password FROM users WHERE name = :name")
_ANY_PASSWORD = text("SELECT EXISTS (SELECT FROM users WHERE password IS NOT NULL)")


def add_link(database: Database, digest: bytes, user_id: str, seconds: float) -> None:
    """Store a link that is good for `seconds`."""
    database.run(_ADD_LINK, hash=digest, user_id=user_id, seconds=seconds)


def use_link(database: Database, link: bytes, session: bytes, days: int) -> User | None:
    """Use up a link and open a session for `days`; None when the link is not good."""
    rows = database.run(_USE_LINK, link=link, session=session, days=days)
    return read_user(rows[0]) if rows else None


def open_session(database: Database, session: bytes, user_id: str, days: int) -> None:
    """Open a session for `days`."""
    database.run(_OPEN, session=session, user_id=user_id, days=days)


def find_session(database: Database, session: bytes, days: int, longest: int) -> User | None:
    """Return whose session it is and let it last `days` from now, `longest` in all."""
    rows = database.run(_SESSION, session=session, days=days, longest=longest)
    return read_user(rows[0]) if rows else None


def close_session(database: Database, session: bytes) -> None:
    """End one session."""
    database.run(_CLOSE, session=session)


def close_all(database: Database, user_id: str) -> None:
    """End every session of a person, and every link that was not used."""
    database.run(_CLOSE_ALL, user_id=user_id)


def set_password(database: Database, user_id: str, password: str | None) -> None:
    """Store a password's hash, None for no password, and end every session of the person."""
    database.run(_SET_PASSWORD, user_id=user_id, password=password)


def password_of(database: Database, name: str) -> tuple[User, str | None] | None:
    """Return the person of this name with their password's hash."""
    rows: list[Row] = list(database.run(_PASSWORD, name=name))
    return (read_user(rows[0]), rows[0].password) if rows else None


def any_password(database: Database) -> bool:
    """Whether anybody has a password."""
    return bool(database.run(_ANY_PASSWORD)[0][0])
