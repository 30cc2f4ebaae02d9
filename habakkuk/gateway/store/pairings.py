"""SQL of pairings: who asked to be let in, and who was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import orjson
from sqlalchemy import text

from habakkuk.conversations.types import Address, Target
from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row

_PAIRED = text("""
    SELECT 1 FROM pairings
    WHERE channel = :channel AND account = :account AND external_id = :sender
      AND approved IS NOT NULL
""")
# Two at once would both find the last place free.
_LOCK = text("SELECT pg_advisory_xact_lock(hashtextextended('pairings ' || :account, 0))")
_FORGET = text("DELETE FROM pairings WHERE approved IS NULL AND expires <= clock_timestamp()")
_ASK = text("""
    INSERT INTO pairings (channel, account, external_id, name, code, target, expires)
    SELECT :channel, :account, :sender, :name, :code, CAST(:target AS jsonb),
           clock_timestamp() + :seconds * interval '1 s'
    WHERE (SELECT count(*) FROM pairings
           WHERE channel = :channel AND account = :account AND approved IS NULL) < :most
    ON CONFLICT DO NOTHING RETURNING code
""")
_COLUMNS = """
    p.channel, p.account, p.external_id, p.name, p.code, p.target, p.created, p.approved,
    u.name AS person
"""
_FIND = text(f"""
    SELECT {_COLUMNS} FROM pairings p LEFT JOIN users u ON u.id = p.user_id
    WHERE p.code = :code AND p.approved IS NULL AND p.expires > clock_timestamp()
    FOR UPDATE OF p
""")
_APPROVE = text("""
    UPDATE pairings SET approved = clock_timestamp(), code = NULL, user_id = :user_id
    WHERE channel = :channel AND account = :account AND external_id = :sender
""")
_LIST = text(f"""
    SELECT {_COLUMNS} FROM pairings p LEFT JOIN users u ON u.id = p.user_id
    WHERE p.approved IS NOT NULL OR p.expires > clock_timestamp()
    ORDER BY p.approved NULLS FIRST, p.created, p.account, p.external_id
""")
_REMOVE = text("""
    DELETE FROM pairings WHERE account = :account AND external_id = :sender RETURNING external_id
""")


@dataclass(frozen=True)
class Pairing:
    """A sender of an account. `code` is None once they were let in, as `person`."""

    channel: str
    account: str
    sender: str
    name: str
    code: str | None
    target: Target
    created: datetime
    approved: datetime | None
    person: str | None


@dataclass(frozen=True)
class Asked:
    """A sender who wants to come in, the code that is made for them, and where they are told."""

    sender: str
    name: str
    code: str
    target: Target


def is_paired(database: Database, channel: str, account: str, sender: str) -> bool:
    """Whether a sender was let in."""
    return bool(database.run(_PAIRED, channel=channel, account=account, sender=sender))


def ask(work: Work, address: Address, asked: Asked, most: int, seconds: float) -> bool:
    """Keep a code for a sender; False when they have one, or the account has `most` open ones."""
    work.defer(_LOCK, account=address.account)
    work.defer(_FORGET)
    row = work.execute(
        _ASK,
        channel=address.channel,
        account=address.account,
        sender=asked.sender,
        name=asked.name,
        code=asked.code,
        target=orjson.dumps(asdict(asked.target)).decode(),
        seconds=seconds,
        most=most,
    ).first()
    return row is not None


def find(work: Work, code: str) -> Pairing | None:
    """Lock and return the open pairing of a code."""
    row = work.execute(_FIND, code=code).first()
    return _pairing(row) if row else None


def approve(work: Work, pairing: Pairing, user_id: str) -> None:
    """Note that a sender was let in as this person."""
    work.execute(
        _APPROVE,
        channel=pairing.channel,
        account=pairing.account,
        sender=pairing.sender,
        user_id=user_id,
    )


def listed(database: Database) -> Sequence[Pairing]:
    """Return the open codes and then everybody who was let in, the oldest first."""
    return [_pairing(row) for row in database.run(_LIST)]


def remove(database: Database, account: str, sender: str) -> bool:
    """Take back a code or a pairing; False when there is none."""
    return bool(database.run(_REMOVE, account=account, sender=sender))


def _pairing(row: Row) -> Pairing:
    return Pairing(
        row.channel,
        row.account,
        row.external_id,
        row.name,
        row.code,
        Target(**row.target),
        row.created,
        row.approved,
        row.person,
    )
