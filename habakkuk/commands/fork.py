"""/fork: try another direction."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import addresses, forks
from habakkuk.core.ids import random_id


@command("fork")
def fork(context: CommandContext, _arguments: str) -> str:
    """Go on in a copy of this session; the original stays as it is."""
    last = forks.end_before(context.work, context.conversation.session_id, 0)
    if not last:
        return "There is nothing to copy yet: nothing was answered in this session."
    return go_on_in_a_copy(context, last)


def go_on_in_a_copy(context: CommandContext, last: int) -> str:
    """Point the conversation to a copy that ends with the message `last`."""
    conversation, made = context.conversation, random_id("ses")
    forks.copy(context.work, conversation.session_id, made, last)
    addresses.point(context.work, conversation.id, made, conversation.agent)
    return f"This conversation goes on in a copy; {conversation.session_id} stays as it was."
