"""Tell the hooks of what a person said to an agent: messages, answers and guidance."""

from __future__ import annotations

from dataclasses import dataclass

from habakkuk.conversations.types import Address
from habakkuk.hooks.service import Hooks
from habakkuk.hooks.types import Happening, HookEvent


@dataclass(frozen=True)
class Said:
    """Something that is stored. `turn` is the one that it begins, joins, answers or guides."""

    address: Address
    conversation_id: str
    turn: str | None
    user_id: str
    text: str


def tell_of(hooks: Hooks, said: Said) -> None:
    """Tell of something that is stored, once: what comes again is not new."""
    if not hooks.hear(HookEvent.MESSAGE_IN):
        return
    address = said.address
    data = {
        "channel": address.channel,
        "account": address.account,
        "chat": address.chat,
        "thread": address.thread,
        "conversation": said.conversation_id,
        "turn": said.turn,
        "user": said.user_id,
        "text": said.text,
    }
    hooks.tell(Happening(HookEvent.MESSAGE_IN, address.account, data))
