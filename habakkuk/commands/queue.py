"""/queue: say what comes next."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, Words, command


@command("queue", usage="<text>", words=lambda _, text: Words(text) if text else None)
def queue(_context: CommandContext, _arguments: str) -> str:
    """Send a message as a turn of its own, which comes when the one that runs has ended."""
    return "Write the message after /queue."
