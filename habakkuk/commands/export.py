"""/export: the conversation as a file."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from habakkuk.commands.contract import CommandContext, command
from habakkuk.conversations.exported import exported
from habakkuk.conversations.files import FILES, Attached
from habakkuk.conversations.shelf import automatic_title
from habakkuk.conversations.store import chat, shelf
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage

_MIME = "text/markdown"


@command("export")
def export(context: CommandContext, _arguments: str) -> str:
    """Get this conversation as a Markdown file."""
    here = context.conversation
    named = shelf.title_in(context.work, here.id)
    title = automatic_title(named) if named else None
    pieces = exported(title, here.agent, partial(chat.after_in, context.work, here.id))
    data = "".join(pieces).encode()
    name = f"{_file_name(title)}.md"
    file = Attached(context.keep(data, _MIME), _MIME, name, len(data))
    row = NewChatMessage(
        Author.SYSTEM,
        "",
        ChatState.SENT,
        ChatKind.FILE,
        {FILES: [asdict(file)]},
        target=context.target,
    )
    chat.add(context.work, here.id, row)
    return "This conversation, as a file."


def _file_name(title: str | None) -> str:
    """Return a name that every system takes."""
    kept = "".join(sign if sign.isalnum() or sign in " -_" else " " for sign in title or "")
    return " ".join(kept.split())[:60] or "conversation"
