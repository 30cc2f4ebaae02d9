"""Rules of accounts: one owner, tokens by digest."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from habakkuk.accounts import store
from habakkuk.accounts.types import DEFAULT_SCOPES, ApiToken, Principal, Scope, User
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.core.ids import random_id
from habakkuk.core.text import clean
from habakkuk.db.engine import Database

_PREFIX = "hab_"
_MAX_NAME = 200


class Accounts:
    """People and what they log in with."""

    def __init__(self, database: Database) -> None:
        """Use the pool of this process."""
        self._database = database
        self._owner: User | None = None

    def owner(self) -> User:
        """Return the owner; the first call on a new server makes one."""
        if self._owner is None:
            self._owner = store.ensure_owner(self._database, random_id("user"), "owner")
        return self._owner

    def create_token(self, name: str, scopes: Sequence[Scope] = DEFAULT_SCOPES) -> str:
        """Make a token for the owner and return it: it cannot be shown again."""
        if not name.strip() or len(name) > _MAX_NAME:
            raise Invalid("a token needs a name of at most 200 characters")
        secret = _PREFIX + secrets.token_urlsafe(32)
        token = ApiToken(
            random_id("tok"), clean(name.strip()), tuple(scopes), datetime.now(UTC), None, None
        )
        store.add_token(self._database, token, self.owner().id, _digest(secret))
        return secret

    def authenticate(self, token: str) -> Principal | None:
        """Return who comes with `token`, None when it is not one of ours.

        Only the digest is looked up, so the time taken tells nothing about the token.
        """
        return store.authenticate(self._database, _digest(token))

    def list_tokens(self) -> Sequence[ApiToken]:
        """Return every token without its secret."""
        return store.list_tokens(self._database)

    def revoke_token(self, which: str) -> int:
        """Revoke the tokens of this id or name and say how many. Raises NotFound."""
        count = store.revoke(self._database, clean(which))
        if not count:
            raise NotFound(f"there is no valid token named {which!r}; see `habakkuk tokens list`")
        return count


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
