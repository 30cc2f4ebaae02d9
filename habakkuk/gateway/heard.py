"""Tell the hooks of a message that came in."""

from __future__ import annotations

from habakkuk.gateway.types import Admitted, Inbound
from habakkuk.hooks.service import Hooks
from habakkuk.hooks.types import Happening, HookEvent


def tell_of_message(hooks: Hooks, inbound: Inbound, admitted: Admitted) -> None:
    """Tell of a message that is stored, once: one that comes again is not new."""
    if not hooks.hear(HookEvent.MESSAGE_IN):
        return
    data = {
        "channel": inbound.address.channel,
        "account": inbound.address.account,
        "chat": inbound.address.chat,
        "thread": inbound.address.thread,
        "conversation": admitted.conversation_id,
        "turn": admitted.turn_id,
        "user": inbound.user.id,
        "text": inbound.text,
    }
    hooks.tell(Happening(HookEvent.MESSAGE_IN, inbound.address.account, data))
