"""/btw: ask something beside the work."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, Words, command
from habakkuk.conversations.store import addresses, forks
from habakkuk.core.ids import random_id


def _beside(context: CommandContext, text: str) -> Words | None:
    """Ask in a copy of the session: it runs at once, and the session never hears of it."""
    if not text:
        return None
    conversation, made = context.conversation, random_id("ses")
    last = forks.end_before(context.work, conversation.session_id, 0)
    if last:
        forks.copy(context.work, conversation.session_id, made, last)
    else:
        addresses.add_session(context.work, conversation, made)
    return Words(text, session_id=made)


@command("btw", usage="<question>", words=_beside)
def btw(_context: CommandContext, _arguments: str) -> str:
    """Ask something beside the work: it is answered at once, and leaves no trace in the session."""
    return "Write your question after /btw."
