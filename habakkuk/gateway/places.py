"""Where an event of a channel happened, and where what is said of it goes."""

from __future__ import annotations

from habakkuk.agent.posting import queue_of
from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.channels.registry import Line
from habakkuk.conversations.store import outgoing
from habakkuk.conversations.types import Address, Target
from habakkuk.core.ids import derive
from habakkuk.core.text import clean
from habakkuk.db.engine import Database
from habakkuk.gateway import rows


def address(line: Line, event: Event) -> Address:
    """Return the address of the conversation in which something happened."""
    return Address(line.channel, line.name, clean(event.chat), clean(event.thread))


def target(line: Line, event: Event) -> Target:
    """Return where an answer goes."""
    message = event.id if isinstance(event, InboundMessage) else None
    subject = event.subject if isinstance(event, InboundMessage) else ""
    return Target(
        line.name,
        clean(event.chat),
        clean(event.thread),
        clean(message) if message is not None else None,
        queue_of(line),
        clean(subject),
    )


def tell(database: Database, line: Line, event: Event, why: str, said: str) -> None:
    """Say something of an event outside, once for each `why`; it stands in no conversation."""
    if not line.adapter.sends:
        return
    delivery = derive("dl", why, line.name, type(event).__name__, event.id)
    conversation = rows.conversation_id(address(line, event))
    with database.transaction() as work:
        outgoing.tell(work, delivery, conversation, target(line, event), clean(said))
