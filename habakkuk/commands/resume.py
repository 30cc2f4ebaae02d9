"""/resume: let a paused turn go on."""

from __future__ import annotations

from habakkuk.agent.steering import store
from habakkuk.commands.contract import CommandContext, command

_RESUMED = "resumed"


@command("resume")
def resume(context: CommandContext, _arguments: str) -> str:
    """Let what was paused in this conversation go on."""
    jobs, work, conversation = context.jobs, context.work, context.conversation
    session = conversation.session_id if context.session_named else None
    paused = [turn for turn in store.begun(work, conversation.id, session) if turn.pause]
    # Used up at once: one that a turn has still to look at would keep it from waiting otherwise.
    answer = {"by": context.user.id}
    going = [t for t in paused if t.pause and jobs.let_go(work, t.pause, _RESUMED, answer)]
    return "It goes on." if going else "Nothing is paused here."
