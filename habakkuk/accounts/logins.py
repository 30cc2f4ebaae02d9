"""Rules of logging in from a browser: links, sessions, passwords (design: blueprint §11)."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from habakkuk.accounts.service import digest
from habakkuk.accounts.store import logins as store
from habakkuk.accounts.types import ROLE_SCOPES, Principal, User
from habakkuk.core.text import clean
from habakkuk.db.engine import Database

LINK_MINUTES = 10
# A session lasts 30 days from its last use, and 90 in all.
_IDLE_DAYS, _LONGEST_DAYS = 30, 90


@dataclass(frozen=True)
class Opened:
    """A new session: its secret, which is not kept, and whose it is."""

    secret: str
    user: User


class Logins:
    """How people come in with a browser. It holds nothing of its own."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database

    def make_link(self, user: User) -> str:
        """Return the secret of a new link for this person, good once and for ten minutes."""
        secret = secrets.token_urlsafe(32)
        store.add_link(self._database, digest(secret), user.id, LINK_MINUTES * 60)
        return secret

    def by_link(self, link: str) -> Opened | None:
        """Use up a link and open a session; None when it is unknown, used or too old."""
        secret = secrets.token_urlsafe(32)
        user = store.use_link(self._database, digest(link), digest(secret), _IDLE_DAYS)
        return Opened(secret, user) if user else None

    def by_password(self, name: str, password: str) -> Opened | None:
        """Open a session; None for every way of being wrong, after about the same time."""
        from habakkuk.accounts.passwords import (  # noqa: PLC0415 - few processes ever need it
            password_matches,
        )

        found = store.password_of(self._database, clean(name.strip()))
        user, stored = found or (None, None)
        if not password_matches(stored, password) or user is None:
            return None
        secret = secrets.token_urlsafe(32)
        store.open_session(self._database, digest(secret), user.id, _IDLE_DAYS)
        return Opened(secret, user)

    def session(self, secret: str) -> Principal | None:
        """Return who comes with a session's secret, with all that their role allows."""
        user = store.find_session(self._database, digest(secret), _IDLE_DAYS, _LONGEST_DAYS)
        return Principal(user, ROLE_SCOPES[user.role]) if user else None

    def sign_out(self, secret: str) -> None:
        """End one session."""
        store.close_session(self._database, digest(secret))

    def sign_out_everywhere(self, user: User) -> None:
        """End every session of a person, and every link that was not used."""
        store.close_all(self._database, user.id)

    def set_password(self, user: User, password: str | None) -> None:
        """Set a password or take it away; every session of the person ends. Raises Invalid."""
        from habakkuk.accounts.passwords import hash_password  # noqa: PLC0415 - as above

        stored = None if password is None else hash_password(password)
        store.set_password(self._database, user.id, stored)

    def passwords_used(self) -> bool:
        """Whether anybody has a password."""
        return store.any_password(self._database)
