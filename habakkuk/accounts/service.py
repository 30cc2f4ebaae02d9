"""Rules of accounts: one owner, people by name, tokens by digest."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime

from habakkuk.accounts.memory import AccountMemory
from habakkuk.accounts.store import identities, people, tokens
from habakkuk.accounts.types import (
    DEFAULT_SCOPES,
    ROLE_SCOPES,
    ApiToken,
    Person,
    Principal,
    Role,
    Scope,
    User,
)
from habakkuk.core.errors import Conflict, Invalid, NotFound
from habakkuk.core.ids import random_id
from habakkuk.core.text import clean, shorten
from habakkuk.db.engine import Database

_PREFIX = "hab_"
_MAX_NAME = 200
# For the account's name and what tells two people of one name apart.
_ROOM = 80
_ONE_OWNER = "a server has one owner, who is neither changed nor removed"


class Accounts:
    """People and the tokens of their programs."""

    def __init__(self, database: Database, memory: AccountMemory | None = None) -> None:
        """Use the pool of this process, and what it remembers of people."""
        self._database = database
        self._memory = memory or AccountMemory()
        self._owner: User | None = None

    def owner(self) -> User:
        """Return the owner; the first call on a new server makes one."""
        if self._owner is None:
            self._owner = people.ensure_owner(self._database, random_id("user"), "owner")
        return self._owner

    def add(self, name: str, role: Role = Role.MEMBER) -> User:
        """Add a person. Raises Invalid and Conflict."""
        if role is Role.OWNER:
            raise Conflict(_ONE_OWNER)
        # The owner's name is taken, also on a server that nobody has used yet.
        self.owner()
        user = User(random_id("user"), _name(name, "a person"), role)
        if not people.add(self._database, user):
            raise Conflict(f"there is a person named {user.name!r} already")
        return user

    def find(self, name: str | None) -> User:
        """Return the person of this name, the owner for None. Raises NotFound."""
        if name is None:
            return self.owner()
        self.owner()
        found = people.find(self._database, clean(name.strip()))
        if found is None:
            raise NotFound(f"there is no person named {name!r}; see `habakkuk users list`")
        return found

    def of_identity(self, channel: str, account: str, external_id: str, name: str) -> User:
        """Return the person behind an id of a channel, made as a member at the first message.

        `name` is what the platform calls them: shown, and never compared (case: two people may
        both be Bob). The caller has decided that this id may write here.
        """
        found = self.known(channel, account, external_id)
        while found is None:
            # The owner comes first on a server that nobody has used yet.
            self.owner()
            called = shorten(clean(name.strip() or external_id), _MAX_NAME - _ROOM)
            unique = f"{called} ({account} {secrets.token_hex(3)})"
            made = User(random_id("user"), unique, Role.MEMBER)
            if identities.add(self._database, channel, account, external_id, made):
                return made
            found = identities.find(self._database, channel, account, external_id)
        return found

    def known(self, channel: str, account: str, external_id: str) -> User | None:
        """Return the person behind an id of a channel, None when it has never written."""
        memory, key = self._memory.identities, (channel, account, external_id)
        known = memory.recall(key)
        if known is not None:
            return known
        changes = memory.changes
        found = identities.find(self._database, channel, account, external_id)
        if found is not None:
            memory.keep(key, found, changes)
        return found

    def link(self, channel: str, account: str, external_id: str, user: User) -> None:
        """Make an id of a channel a person's; what came under it before stays whosever it was."""
        identities.link(self._database, channel, account, external_id, user.id)

    def people(self) -> Sequence[Person]:
        """Return everybody, the owner first."""
        self.owner()
        return people.listed(self._database)

    def set_role(self, name: str, role: Role) -> User:
        """Give a person another role. Raises NotFound and Conflict."""
        user = self.find(name)
        if role is Role.OWNER or not people.set_role(self._database, user.id, role):
            raise Conflict(_ONE_OWNER)
        return User(user.id, user.name, role)

    def remove(self, name: str) -> User:
        """Remove a person with tokens and logins; conversations stay. Raises NotFound, Conflict."""
        user = self.find(name)
        if not people.remove(self._database, user.id):
            raise Conflict(_ONE_OWNER)
        return user

    def create_token(
        self, name: str, scopes: Sequence[Scope] = DEFAULT_SCOPES, user: User | None = None
    ) -> str:
        """Make a token, for the owner unless told, and return it: it cannot be shown again.

        Raises Invalid when the name is none or the person's role does not allow a scope.
        """
        holder = user or self.owner()
        excess = [scope for scope in scopes if scope not in ROLE_SCOPES[holder.role]]
        if excess:
            allowed = ", ".join(scope for scope in Scope if scope in ROLE_SCOPES[holder.role])
            raise Invalid(f"a token of a {holder.role} may have {allowed}, not {excess[0]}")
        secret = _PREFIX + secrets.token_urlsafe(32)
        token = ApiToken(
            random_id("tok"),
            _name(name, "a token"),
            tuple(scopes),
            datetime.now(UTC),
            None,
            None,
            holder.name,
        )
        tokens.add(self._database, token, holder.id, digest(secret))
        return secret

    def authenticate(self, token: str) -> Principal | None:
        """Return who comes with `token`, None when it is not one of ours.

        Only the digest is looked up, so the time taken tells nothing about the token. A role that
        was lowered since lowers what the token allows.
        """
        memory, key = self._memory.tokens, digest(token)
        known = memory.recall(key)
        if known is not None:
            return known
        changes = memory.changes
        found = tokens.authenticate(self._database, key)
        if found is None:
            return None
        user, scopes = found
        principal = Principal(user, scopes & ROLE_SCOPES[user.role])
        memory.keep(key, principal, changes)
        return principal

    def list_tokens(self) -> Sequence[ApiToken]:
        """Return every token without its secret."""
        return tokens.listed(self._database)

    def revoke_token(self, which: str) -> int:
        """Revoke the tokens of this id or name and say how many. Raises NotFound."""
        count = tokens.revoke(self._database, clean(which))
        if not count:
            raise NotFound(f"there is no valid token named {which!r}; see `habakkuk tokens list`")
        return count


def digest(secret: str) -> bytes:
    """Return what is kept of a random secret: its SHA-256."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _name(name: str, whose: str) -> str:
    if not name.strip() or len(name) > _MAX_NAME:
        raise Invalid(f"{whose} needs a name of at most {_MAX_NAME} characters")
    return clean(name.strip())
