"""/rewind: go on from an earlier point."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.commands.fork import go_on_in_a_copy
from habakkuk.conversations.store import forks

_USAGE = "Write how many of your messages to go back, such as /rewind 2."


@command("rewind", usage="[number]")
def rewind(context: CommandContext, arguments: str) -> str:
    """Go on as if your latest messages and their answers were never there."""
    number = arguments or "1"
    if not number.isascii() or not number.isdigit() or not 0 < int(number) <= 10_000:  # noqa: PLR2004 - more than any session has
        return _USAGE
    last = forks.end_before(context.work, context.conversation.session_id, int(number))
    if last is None:
        return "There are not so many answered messages in this session."
    if not last:
        return "That would leave nothing: /new starts a fresh session."
    return go_on_in_a_copy(context, last)
