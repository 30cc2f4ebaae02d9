"""/compact: sum up what is old."""

from __future__ import annotations

from habakkuk.agent.asked import asked_job
from habakkuk.agent.compaction.handler import COMPACT_KIND
from habakkuk.commands.contract import CommandContext, command


@command("compact")
def compact(context: CommandContext, _arguments: str) -> str:
    """Sum up what was said so far, so that the session takes less; nothing is deleted."""
    job = asked_job(COMPACT_KIND, context.conversation, context.target)
    context.jobs.enqueue(context.work, job)
    return "Summing up. You can go on; your next message waits until it is done."
