"""/whoami: as whom Habakkuk knows the sender."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command


@command("whoami")
def whoami(context: CommandContext, _arguments: str) -> str:
    """Show who you are here, where you write, and who answers."""
    conversation, user = context.conversation, context.user
    address = conversation.address
    place = f"{address.account} ({address.channel})"
    return "\n".join(
        [
            f"You: {user.name}, {user.role}",
            f"Where: {place}, chat {address.chat}"
            + (f", thread {address.thread}" if address.thread else ""),
            f"Agent: {conversation.agent}",
            f"Session: {conversation.session_id}",
        ]
    )
