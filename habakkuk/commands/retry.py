"""/retry: answer once more."""

from __future__ import annotations

from habakkuk.commands.contract import CommandContext, Words, command
from habakkuk.conversations.files import awaited_of, files_of, unlaid
from habakkuk.conversations.store import chat, turns
from habakkuk.conversations.types import OUTSIDE, UNREAD


def _again(context: CommandContext, _arguments: str) -> Words | None:
    """Say the sender's last message again, when nothing is being answered."""
    conversation = context.conversation
    if _busy(context):
        return None
    last = chat.last_said_by(context.work, conversation.id, context.user.id)
    if last is None:
        return None
    files = unlaid(files_of(last.data))
    return Words(
        last.body,
        files=files,
        awaited=awaited_of(last.data),
        unplaced=bool(files),
        unread=tuple(last.data.get(UNREAD, ())),
        outside=bool(last.data.get(OUTSIDE)),
    )


@command("retry", words=_again)
def retry(context: CommandContext, _arguments: str) -> str:
    """Ask your last message again, as a turn of its own."""
    if _busy(context):
        return "Something is being answered here; /stop it first, or wait for its end."
    return "There is no message of yours to ask again."


def _busy(context: CommandContext) -> bool:
    here = context.conversation.session_id
    found = turns.open_in(context.work, context.conversation.id)
    return any(turn.session_id == here for turn in found)
