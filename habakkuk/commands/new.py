"""/new: leave the transcript behind."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import addresses
from habakkuk.core.ids import random_id


@command("new")
def new(context: CommandContext, _arguments: str) -> str:
    """Start a fresh session; what was said before stays readable."""
    session = random_id("ses")
    addresses.add_session(context.work, context.conversation, session)
    addresses.point(context.work, context.conversation.id, session, context.conversation.agent)
    return "A new session starts with your next message."
