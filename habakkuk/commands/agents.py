"""/agents: who can answer."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.choices import answering


@command("agents")
def agents(context: CommandContext, _arguments: str) -> str:
    """Show the agents of this server and their models."""
    here = context.conversation.agent
    lines = []
    for name in context.config.agents:
        model = answering(context.selection, name, None)
        mark = " (answers here)" if name == here else ""
        lines.append(f"{name}{mark}: {model or 'no model is set'}")
    return "\n".join(lines)
