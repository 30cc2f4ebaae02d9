"""/model: which model answers in this session."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.choices import answering, notes_on, price_notes
from habakkuk.conversations.store import choices
from habakkuk.core.errors import Invalid
from habakkuk.llm.choice import DEFAULT, at_hand, choose_model


@command("model", usage="[provider/model | default]")
def model(context: CommandContext, arguments: str) -> str:
    """Show the session's model and those at hand, or choose one for this session."""
    session, agent = context.conversation.session_id, context.conversation.agent
    chosen, effort = choices.get(context.work, session)
    if not arguments:
        return _shown(context, chosen)
    if arguments.lower() == DEFAULT:
        choices.set_model(context.work, session, None)
        first = answering(context.selection, agent, None)
        return f"This session is answered by the model of {agent} again: {first or 'none is set'}."
    try:
        ref = choose_model(context.selection, arguments)
    except Invalid as error:
        return f"Nothing is changed: {error}."
    choices.set_model(context.work, session, str(ref))
    notes = notes_on(ref, effort, chosen=True)
    notes += price_notes(context.config, context.selection, ref)
    return "\n".join([f"From now on this session is answered by {ref}.", *map(_sentence, notes)])


def _shown(context: CommandContext, chosen: str | None) -> str:
    agent = context.conversation.agent
    ref = answering(context.selection, agent, chosen)
    how = "chosen for this session" if chosen else f"the model of {agent}"
    lines = [f"Model: {ref} ({how})" if ref else "No model is set."]
    known = [str(one) for one in at_hand(context.selection) if one != ref]
    if known:
        lines += ["At hand: " + ", ".join(known)]
    lines += ["/model provider/model chooses one for this session, /model default takes it back."]
    return "\n".join(lines)


def _sentence(note: str) -> str:
    return f"{note[0].upper()}{note[1:]}."
