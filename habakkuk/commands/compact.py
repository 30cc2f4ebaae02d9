"""/compact: sum up what is old."""

from __future__ import annotations

from habakkuk.agent.compaction.handler import compaction_job
from habakkuk.commands.contract import CommandContext, command


@command("compact")
def compact(context: CommandContext, _arguments: str) -> str:
    """Sum up what was said so far, so that the session takes less; nothing is deleted."""
    conversation = context.conversation
    job = compaction_job(conversation.session_id, conversation.id, context.target)
    context.jobs.enqueue(context.work, job)
    return "Summing up. You can go on; your next message waits until it is done."
