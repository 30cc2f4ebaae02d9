"""/stop: end the turn that runs."""

from __future__ import annotations

from habakkuk.agent.compaction.handler import COMPACT_KIND
from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import turns
from habakkuk.conversations.types import serial_key

STOPPED_BY_USER = "stopped by you"


@command("stop")
def stop(context: CommandContext, _arguments: str) -> str:
    """Stop the turn that is running or next in this conversation."""
    conversation = context.conversation
    key = serial_key(conversation.session_id)
    for job in context.jobs.alive(context.work, key, COMPACT_KIND):
        # It stands before every message that came since.
        if context.jobs.cancel(context.work, job, STOPPED_BY_USER) is not None:
            return "Stopping to sum up."
    open_turns = turns.open_turns_in(context.work, conversation.session_id)
    if not open_turns and not context.session_named:
        open_turns = turns.open_anywhere_in(context.work, conversation.id)
    if not open_turns:
        return "Nothing is running here."
    turn, _ = open_turns[0]
    if context.jobs.cancel(context.work, turn, STOPPED_BY_USER) is None:
        return "It ended just now."
    waiting = len(open_turns) - 1
    if waiting:
        noun = "message waits" if waiting == 1 else "messages wait"
        return f"Stopping. {waiting} more {noun} and will be answered next; /stop again stops that."
    return "Stopping."
