"""/undo: bring the workspace back."""

from __future__ import annotations

from habakkuk.agent.asked import asked_job
from habakkuk.agent.undo.store import UNDO_KIND
from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import turns
from habakkuk.core.config.schema import AgentConfig


@command("undo")
def undo(context: CommandContext, _arguments: str) -> str:
    """Take back what the latest turn of this conversation changed in the workspace."""
    conversation = context.conversation
    agent = context.config.agents.get(conversation.agent, AgentConfig())
    if not agent.checkpoints or agent.sandbox == "ssh":
        why = "works on another machine" if agent.checkpoints else "has `checkpoints: false`"
        return f"There is nothing to go back to: {conversation.agent} {why}."
    if turns.open_in(context.work, conversation.id):
        return "A turn is running or next here; /stop it first, or wait for its end."
    # It looks again before it begins; whoever asks in vain shall know at once.
    if turns.runs_for(context.work, conversation.agent):
        return "A turn of another conversation works in this workspace; try again when it ended."
    context.jobs.enqueue(context.work, asked_job(UNDO_KIND, conversation, context.target))
    return "Taking back what the latest turn changed."
