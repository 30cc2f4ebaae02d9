"""What tools say in the chat of their turn, beside its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, BinaryIO, Protocol

from habakkuk.conversations.types import ChatKind


@dataclass(frozen=True)
class Place:
    """The chat that a turn belongs to.

    `takes_files`: files arrive there; elsewhere a line says which there is. `file_limit` in bytes.
    """

    takes_files: bool
    file_limit: int


@dataclass(frozen=True)
class Post:
    """Something to say: `text` as it stands in the conversation, `data` as its row keeps it."""

    kind: ChatKind
    text: str
    data: dict[str, Any] = field(default_factory=dict)


class PostDesk(Protocol):
    """Where tools have things said; habakkuk.agent.posting says how."""

    def place(self, turn_id: str) -> Place:
        """Return the chat of a turn. Raises ToolError where there is none."""
        ...

    def store(self, source: BinaryIO, mime: str) -> str:
        """Keep all of a file and return its blob. Raises ToolError."""
        ...

    def post(self, turn_id: str, call_id: str, post: Post) -> None:
        """Say something, once a call however often it is asked. Raises ToolError."""
        ...
