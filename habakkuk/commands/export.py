"""/export: the conversation as a file."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from functools import partial

from habakkuk.commands.contract import Ahead, CommandContext, Prepared, beforehand, command
from habakkuk.conversations.exported import exported
from habakkuk.conversations.files import FILES, Attached
from habakkuk.conversations.shelf import automatic_title
from habakkuk.conversations.store import addresses, chat, shelf
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage

_MIME = "text/markdown"


def _written(ahead: Ahead) -> Prepared:
    """Write it as it is at one moment: messages that come meanwhile do not wait, nor stand in it.

    Page by page to the disk, since it may be long.
    """
    here = ahead.conversation
    with tempfile.TemporaryFile() as made:
        with ahead.database.snapshot() as work:
            named = shelf.title_in(work, here.id)
            title = automatic_title(named) if named else None
            for piece in exported(title, here.agent, partial(chat.after_in, work, here.id)):
                made.write(piece.encode())
        size = made.tell()
        blob = ahead.put(made, _MIME)
    return Prepared(here.session_id, Attached(blob, _MIME, f"{_file_name(title)}.md", size))


@beforehand(_written)
@command("export")
def export(context: CommandContext, _arguments: str) -> str:
    """Get this conversation as a Markdown file."""
    here, made = context.conversation, context.prepared
    if made is None or not addresses.holds(context.work, here.id, made.session_id):
        return "There is nothing here to export yet."
    row = NewChatMessage(
        Author.SYSTEM,
        "",
        ChatState.SENT,
        ChatKind.FILE,
        {FILES: [asdict(made.file)]},
        target=context.target,
    )
    chat.add(context.work, here.id, row)
    return "This conversation, as a file."


def _file_name(title: str | None) -> str:
    """Return a name that every system takes."""
    kept = "".join(sign if sign.isalnum() or sign in " -_" else " " for sign in title or "")
    return " ".join(kept.split())[:60] or "conversation"
