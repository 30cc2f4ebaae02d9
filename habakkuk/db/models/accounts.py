"""People, how channels know them, and what they log in with (design: blueprint §11)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ARRAY, CheckConstraint, ForeignKey, Index, LargeBinary, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Created, Key


class User(Base):
    """A person. Exactly one owner exists from the first start on.

    `password` is an argon2id hash, None for whoever logs in by links alone.
    """

    __tablename__ = "users"

    id: Mapped[Key]
    name: Mapped[str] = mapped_column(Text, unique=True)
    role: Mapped[str]
    password: Mapped[str | None]
    timezone: Mapped[str | None]
    language: Mapped[str | None]
    created: Mapped[Created]

    __table_args__ = (
        CheckConstraint("role IN ('owner', 'member', 'viewer')", name="role_known"),
        Index("users_one_owner", "role", unique=True, postgresql_where=text("role = 'owner'")),
    )


class Identity(Base):
    """How one channel account knows a person: by an id that never changes, not by a name."""

    __tablename__ = "identities"

    channel: Mapped[Key]
    account: Mapped[Key]
    external_id: Mapped[Key]
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created: Mapped[Created]


class Pairing(Base):
    """A sender who asked to be let in, and was when `approved` is set; `code` is of the others.

    `target` is where they are told. Nothing of what they wrote is here.
    """

    __tablename__ = "pairings"

    channel: Mapped[Key]
    account: Mapped[Key]
    external_id: Mapped[Key]
    name: Mapped[str]
    code: Mapped[str | None] = mapped_column(unique=True)
    target: Mapped[dict[str, Any]]
    user_id: Mapped[str | None] = mapped_column(
        ForeignKey("users.id", ondelete="CASCADE"), index=True
    )
    created: Mapped[Created]
    expires: Mapped[datetime]
    approved: Mapped[datetime | None]


class ApiToken(Base):
    """A bearer token; only its SHA-256 is kept."""

    __tablename__ = "api_tokens"

    id: Mapped[Key]
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    hash: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    created: Mapped[Created]
    last_used: Mapped[datetime | None]
    revoked: Mapped[datetime | None]


class WebSession(Base):
    """A browser's login; the id in the cookie is random and only its SHA-256 is kept."""

    __tablename__ = "web_sessions"

    hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created: Mapped[Created]
    seen: Mapped[Created]
    expires: Mapped[datetime]


class LoginLink(Base):
    """A link that logs one person in, once; only its SHA-256 is kept."""

    __tablename__ = "login_links"

    hash: Mapped[bytes] = mapped_column(LargeBinary, primary_key=True)
    user_id: Mapped[str] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), index=True)
    created: Mapped[Created]
    expires: Mapped[datetime]
    used: Mapped[datetime | None]
