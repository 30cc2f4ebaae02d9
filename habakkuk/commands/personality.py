"""/personality: how the agent sounds in this session."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.store import choices
from habakkuk.core.nearest import advice
from habakkuk.llm.choice import DEFAULT


@command("personality", usage="[name | default]")
def personality(context: CommandContext, arguments: str) -> str:
    """Show how the agent can sound, or choose it for this session."""
    session, names = context.conversation.session_id, context.personalities.names()
    wanted = arguments.lower()
    if not wanted:
        chosen = choices.get_personality(context.work, session)
        return "\n".join(
            [
                f"Personality: {chosen or 'none is chosen'}",
                f"At hand: {', '.join(names)}",
                "/personality NAME chooses one for this session, /personality default none.",
            ]
        )
    if wanted == DEFAULT:
        choices.set_personality(context.work, session, None)
        return "From now on the agent sounds as it does by itself."
    if wanted not in names:
        meant = advice(wanted, names, "there are")
        return f"Nothing is changed: there is no personality {arguments!r}; {meant}."
    choices.set_personality(context.work, session, wanted)
    return f"From now on the agent is {wanted} in this session."
