"""People and tokens as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Role(StrEnum):
    """What a person is on this server (design: blueprint §11)."""

    OWNER = "owner"
    MEMBER = "member"
    VIEWER = "viewer"


class Scope(StrEnum):
    """What a token may be used for."""

    CHAT = "chat"
    READ = "read"
    APPROVE = "approve"
    ADMIN = "admin"


DEFAULT_SCOPES = (Scope.CHAT, Scope.READ)
# The most that a credential of such a person can allow; what a web session allows.
ROLE_SCOPES: Mapping[Role, frozenset[Scope]] = {
    Role.OWNER: frozenset(Scope),
    Role.MEMBER: frozenset({Scope.CHAT, Scope.READ, Scope.APPROVE}),
    Role.VIEWER: frozenset({Scope.READ}),
}


@dataclass(frozen=True)
class User:
    """A person."""

    id: str
    name: str
    role: Role

    def decides_for(self, user_id: str | None) -> bool:
        """Whether this person answers for a turn of the user `user_id`, stops it and guides it.

        Their own as a member, every one as an owner; a viewer only reads (design: blueprint §11).
        """
        if self.role is Role.OWNER:
            return True
        return self.role is Role.MEMBER and user_id == self.id


@dataclass(frozen=True)
class Principal:
    """Who a request comes from, and what its credential allows."""

    user: User
    scopes: frozenset[Scope]

    @property
    def user_id(self) -> str:
        """The person's id."""
        return self.user.id

    def may(self, scope: Scope) -> bool:
        """Whether the credential covers `scope`; admin covers all."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def sees(self, owner_id: str | None) -> bool:
        """Whether the person may see what belongs to the user `owner_id`."""
        return self.user.role is Role.OWNER or (owner_id is not None and owner_id == self.user.id)


@dataclass(frozen=True)
class ApiToken:
    """A token as it is listed; the secret itself is not kept."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: datetime
    last_used: datetime | None
    revoked: datetime | None
    user: str


@dataclass(frozen=True)
class Person:
    """A person as they are listed; `seen` is when a browser of theirs last was."""

    user: User
    created: datetime
    seen: datetime | None
    has_password: bool
