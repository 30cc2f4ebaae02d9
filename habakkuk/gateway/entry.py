"""Make what an intake hands over fit to be stored: the gateway's edge."""

from __future__ import annotations

from dataclasses import asdict, replace

from habakkuk.conversations.files import Attached, Awaited
from habakkuk.conversations.types import Address, Target
from habakkuk.core.errors import Invalid
from habakkuk.core.ids import derive
from habakkuk.core.text import clean, clean_json, shorten
from habakkuk.gateway.types import Cursor, Inbound

# A row of an index holds 2,704 bytes; ids of platforms are far shorter.
_LONGEST_ID = 500
_LONGEST_ADDRESS = 1500
_LONGEST_NAME = 200
# What frames a note in a message: nobody may end the frame by a name.
FRAME = str.maketrans("", "", "[]")


def cleaned(inbound: Inbound) -> Inbound:
    """Return the message with every text clean and every id short enough for an index.

    Raises Invalid when the address is too long: it is needed as it is, to answer there.
    """
    return replace(
        inbound,
        address=_address(inbound.address),
        text=clean(inbound.text),
        remote_id=inbound.remote_id and remote_id(inbound.remote_id),
        seed=clean_json(inbound.seed),
        reply_to=clean_json(inbound.reply_to),
        files=tuple(map(_attached, inbound.files)),
        awaited=tuple(map(_awaited, inbound.awaited)),
        unread=tuple(map(clean, inbound.unread)),
        target=_target(inbound.target),
        cursor=_cursor(inbound.cursor),
    )


def remote_id(given: str) -> str:
    """Return the id under which a message of a source is stored."""
    made = clean(given)
    return made if len(made.encode()) <= _LONGEST_ID else derive("long", made)


def _address(address: Address) -> Address:
    parts = (address.channel, address.account, address.chat, address.thread)
    made = Address(*map(clean, parts))
    if sum(len(clean(part).encode()) for part in parts) > _LONGEST_ADDRESS:
        raise Invalid(f"the conversation's name has more than {_LONGEST_ADDRESS:,} bytes")
    return made


def _target(target: Target | None) -> Target | None:
    return target and Target(**clean_json(asdict(target)))


def _attached(file: Attached) -> Attached:
    return replace(file, name=file.name and clean(file.name).translate(FRAME))


def _awaited(file: Awaited) -> Awaited:
    return Awaited(
        clean(file.account),
        shorten(clean(file.name).translate(FRAME), _LONGEST_NAME),
        shorten(clean(file.mime), _LONGEST_NAME),
        file.size,
        clean_json(file.handle),
    )


def _cursor(cursor: Cursor | None) -> Cursor | None:
    return cursor and Cursor(clean(cursor.name), clean_json(cursor.value))
