"""A conversation as Markdown, for people to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from habakkuk.conversations.files import files_of
from habakkuk.conversations.types import Author, ChatKind, ChatMessage, ChatState

_PAGE = 500
_NAMES = {Author.USER: "You", Author.SYSTEM: "Habakkuk"}


def exported(
    title: str | None, agent: str, after: Callable[[int, int], Sequence[ChatMessage]]
) -> Iterator[str]:
    """Yield it piece by piece; `after` gives the messages behind a number, at most so many."""
    yield f"# {title or 'Conversation'}\n"
    seq = 0
    while rows := after(seq, _PAGE):
        seq = rows[-1].seq
        for message in rows:
            if message.state is not ChatState.WITHDRAWN:
                yield _as_markdown(message, agent)


def _as_markdown(message: ChatMessage, agent: str) -> str:
    who = _NAMES.get(message.author, agent)
    kind = "" if message.kind is ChatKind.MESSAGE else f" ({message.kind})"
    note = message.data.get("notice")
    ends = f"\n\n*{note}*" if isinstance(note, str) and note else ""
    files = "".join(f"*File: {file.name or file.mime}*\n\n" for file in files_of(message.data))
    return f"\n## {who}{kind}, {_moment(message.created)}\n\n{files}{message.body}{ends}\n"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M %Z").strip()
