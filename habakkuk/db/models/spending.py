"""What keeps spending within its caps: money held for calls under way, sums, and what days know."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from sqlalchemy import ARRAY, Numeric, Text
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Created, Key


class SpendHold(Base):
    """What a call under way may cost at most, and what its prompt alone costs; USD.

    It goes with the commit that writes what the call did cost. When its turn is taken up by others,
    or when it has expired, it becomes the ledger's line of a lost call.
    """

    __tablename__ = "spend_holds"

    id: Mapped[Key]
    turn_id: Mapped[str | None] = mapped_column(index=True)
    session_id: Mapped[str | None]
    user_id: Mapped[str | None]
    agent: Mapped[str | None]
    provider: Mapped[str]
    model: Mapped[str]
    purpose: Mapped[str] = mapped_column(server_default="answer")
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text))
    amount: Mapped[Decimal] = mapped_column(Numeric(14, 8))
    prompt: Mapped[Decimal | None] = mapped_column(Numeric(14, 8))
    at: Mapped[Created]
    expires: Mapped[datetime]


class SpendSum(Base):
    """What was spent under one scope in the five minutes before `ends`: a sum over the ledger.

    The newest of the scope `day` tells how far the sums go.
    """

    __tablename__ = "spend_sums"

    scope: Mapped[Key]
    ends: Mapped[datetime] = mapped_column(primary_key=True)
    cost: Mapped[Decimal] = mapped_column(Numeric(14, 8))


class SpendDay(Base):
    """One cap on one day: by how much an owner raised it, and when its users were warned."""

    __tablename__ = "spend_days"

    scope: Mapped[Key]
    day: Mapped[date] = mapped_column(primary_key=True)
    raised: Mapped[Decimal] = mapped_column(Numeric(14, 8), server_default="0")
    warned: Mapped[datetime | None]
