"""/effort: how hard the model thinks in this session."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.choices import answering
from habakkuk.conversations.store import choices
from habakkuk.core.errors import Invalid
from habakkuk.llm.choice import DEFAULT, choose_effort, effort_note
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import EFFORTS, ModelRef


@command("effort", usage="[level | default]", aliases=("think",))
def effort(context: CommandContext, arguments: str) -> str:
    """Show or choose how hard the model thinks in this session."""
    session = context.conversation.session_id
    model, level = choices.get(context.work, session)
    ref = answering(context.selection, context.conversation.agent, model)
    if not arguments:
        return _shown(level, ref)
    if arguments.lower() == DEFAULT:
        choices.set_effort(context.work, session, None)
        return "From now on the model thinks as hard as it does by itself."
    try:
        chosen = choose_effort(arguments)
    except Invalid as error:
        return f"Nothing is changed: {error}."
    choices.set_effort(context.work, session, chosen)
    note = effort_note(chosen, ref) if ref else None
    return f"From now on the effort in this session is {chosen}." + (f"\n{note}." if note else "")


def _shown(level: str | None, ref: ModelRef | None) -> str:
    taken = profile_for(ref).efforts if ref else ()
    lines = [
        f"Effort: {level or 'what the model does by itself'}",
        *([f"{ref} takes: {', '.join(taken)}"] if taken else []),
        f"/effort LEVEL chooses one of {', '.join(EFFORTS)}; /effort default takes it back.",
    ]
    return "\n".join(lines)
