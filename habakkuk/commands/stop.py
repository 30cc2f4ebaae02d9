"""/stop: end the turn that runs."""

from __future__ import annotations

from habakkuk.agent.compaction.handler import COMPACT_KIND
from habakkuk.commands.contract import CommandContext, command
from habakkuk.commands.reach import within_reach
from habakkuk.conversations.store import turns
from habakkuk.conversations.types import serial_key

STOPPED_BY_USER = "stopped by you"


@command("stop")
def stop(context: CommandContext, _arguments: str) -> str:
    """Stop the turn that is running or next in this conversation."""
    key = serial_key(context.conversation.session_id)
    for job in context.jobs.alive(context.work, key, COMPACT_KIND):
        # It stands before every message that came since.
        if context.jobs.cancel(context.work, job, STOPPED_BY_USER) is not None:
            return "Stopping to sum up."
    found = within_reach(context, turns.open_in(context.work, context.conversation.id))
    if isinstance(found, str):
        return found
    # What takes its time to end must not keep the next from being stopped.
    going = [turn for turn in found if not turn.stopping]
    if not going:
        return "It is being stopped already."
    if context.jobs.cancel(context.work, going[0].id, STOPPED_BY_USER) is None:
        return "It ended just now."
    waiting = sum(1 for turn in going[1:] if turn.session_id == going[0].session_id)
    if waiting:
        noun = "message waits" if waiting == 1 else "messages wait"
        return f"Stopping. {waiting} more {noun} and will be answered next; /stop again stops that."
    return "Stopping."
