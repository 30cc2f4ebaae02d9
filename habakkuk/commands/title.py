"""/title: what the conversation is called."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.shelf import fit_title
from habakkuk.conversations.store import shelf
from habakkuk.core.errors import Invalid


@command("title", usage="[text]")
def title(context: CommandContext, arguments: str) -> str:
    """Show what this conversation is called, or name it; a name set by hand stays."""
    conversation = context.conversation
    if not arguments:
        named = shelf.title_in(context.work, conversation.id)
        return f"This conversation is called: {named}" if named else "It has no title yet."
    try:
        wanted = fit_title(arguments)
    except Invalid as error:
        return f"Nothing is changed: {error}."
    shelf.name(context.work, conversation.id, conversation.session_id, wanted)
    return f"From now on this conversation is called: {wanted}"
