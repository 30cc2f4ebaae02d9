"""/pause: hold the turn that runs."""

from __future__ import annotations

from habakkuk.agent.steering import store
from habakkuk.commands.contract import CommandContext, command
from habakkuk.commands.reach import within_reach
from habakkuk.core.ids import random_id
from habakkuk.jobs.types import NewWait


@command("pause")
def pause(context: CommandContext, _arguments: str) -> str:
    """Let the running turn finish what it does now, then wait for /resume."""
    found = within_reach(context, store.begun(context.work, context.conversation.id))
    if isinstance(found, str):
        return found
    turn = found[0]
    if turn.pause is not None:
        return "It is paused already. /resume goes on, /stop ends it."
    wait = NewWait(random_id("wait"), store.PAUSE, {"by": context.user.id})
    if not context.jobs.open_wait(context.work, turn.id, wait):
        return "It ended just now."
    return "It finishes what it does now, then waits. /resume goes on, /stop ends it."
