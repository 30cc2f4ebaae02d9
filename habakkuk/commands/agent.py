"""/agent: who answers in this conversation."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import addresses
from habakkuk.core.ids import random_id
from habakkuk.core.nearest import advice
from habakkuk.llm.choice import DEFAULT


@command("agent", usage="[name | default]")
def agent(context: CommandContext, arguments: str) -> str:
    """Show who answers here, or give this conversation to another agent with a fresh session."""
    here = context.conversation
    known = list(context.config.agents)
    if not arguments:
        how = "chosen here" if here.chosen else "as this server is set up"
        return (
            f"Agent: {here.agent} ({how})\n/agent NAME gives this conversation to another one of"
            f" {', '.join(known)}; /agent default takes it back."
        )
    if arguments.lower() == DEFAULT:
        addresses.unchoose(context.work, here.id)
        return "From your next message on whoever this server is set up with answers here again."
    if arguments not in known:
        meant = advice(arguments, known, "there are")
        return f"Nothing is changed: there is no agent {arguments!r}; {meant}."
    if arguments == here.agent:
        addresses.choose(context.work, here, here.session_id)
        return f"{arguments} answers here, and goes on doing so."
    session = random_id("ses")
    addresses.choose(context.work, here.of(arguments), session)
    return f"From your next message on {arguments} answers here, in a new session."
