"""/usage: what models used and cost."""

from __future__ import annotations

from datetime import UTC, datetime

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.reports import cost_words, hit_share, today
from habakkuk.conversations.store import reports
from habakkuk.conversations.store.reports import Spent


@command("usage")
def usage(context: CommandContext, _arguments: str) -> str:
    """Show what this session and you today have used, and what it cost."""
    session = reports.of_session(context.work, context.conversation.session_id)
    day = today(context.work, context.config, datetime.now(UTC), context.user.id)
    return f"This session: {_words(session)}\nYou today: {_words(day)}"


def _words(spent: Spent) -> str:
    if not spent.calls:
        return "no model was called yet."
    used = spent.usage
    share = hit_share(used)
    cached = f" ({share:.0%} of it cached)" if share is not None else ""
    calls = f"{spent.calls:,} call{'' if spent.calls == 1 else 's'}"
    failed = f", {spent.failed:,} of them failed" if spent.failed else ""
    return (
        f"{calls}{failed}, {used.input:,} tokens read{cached}, {used.output:,} written,"
        f" {cost_words(spent)}."
    )
