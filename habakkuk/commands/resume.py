"""/resume: let a paused turn go on."""

from __future__ import annotations

from habakkuk.agent.steering import store
from habakkuk.commands.contract import CommandContext, command
from habakkuk.commands.reach import within_reach

_RESUMED = "resumed"


@command("resume")
def resume(context: CommandContext, _arguments: str) -> str:
    """Let what was paused in this conversation go on."""
    jobs, work = context.jobs, context.work
    paused = [turn for turn in store.begun(work, context.conversation.id) if turn.pause]
    found = within_reach(context, paused, "paused")
    if isinstance(found, str):
        return found
    # Used up at once: one that a turn has still to look at would keep it from waiting otherwise.
    answer = {"by": context.user.id}
    going = [t for t in found if t.pause and jobs.let_go(work, t.pause, _RESUMED, answer)]
    return "It goes on." if going else "It goes on already."
