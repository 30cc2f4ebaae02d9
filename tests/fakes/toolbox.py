"""What a tool needs to run in a test: a workspace, an interrupt, and services that stay here."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from habakkuk.conversations.todo import TodoList
from habakkuk.core.errors import NotFound, ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.commands import Commands
from habakkuk.tools.contract import Tool, ToolContext, ToolOutput
from habakkuk.tools.files import ShownFiles
from habakkuk.tools.outputs import KeptOutputs
from habakkuk.tools.posting import Place, Post
from habakkuk.tools.services import ToolServices

PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


class MemoryBlobs:
    """Blobs in a dictionary."""

    def __init__(self) -> None:
        self.stored: dict[str, bytes] = {}

    def put(self, data: bytes, mime: str, session_id: str | None = None) -> str:
        blob = hashlib.sha256(data).hexdigest()
        self.stored[blob] = data
        return blob

    def get(self, blob: str) -> bytes:
        try:
            return self.stored[blob]
        except KeyError as error:
            raise NotFound(blob) from error


class MemoryTodo:
    """Task lists in a dictionary."""

    def __init__(self) -> None:
        self.lists: dict[str, TodoList] = {}

    def change(self, session_id: str, change: Callable[[TodoList], TodoList]) -> TodoList:
        self.lists[session_id] = change(self.lists.get(session_id, TodoList()))
        return self.lists[session_id]


class MemoryPosts:
    """A chat in a list: what each call said."""

    def __init__(self, place: Place | None = None) -> None:
        self.chat = place or Place(takes_files=True, file_limit=1_000_000)
        self.blobs = MemoryBlobs()
        self.said: dict[str, Post] = {}

    def place(self, turn_id: str) -> Place:
        return self.chat

    def store(self, source: BinaryIO, mime: str) -> str:
        source.seek(0)
        return self.blobs.put(source.read(), mime)

    def post(self, turn_id: str, call_id: str, post: Post) -> None:
        self.said.setdefault(call_id, post)


def services(home: Path, process: dict[str, str] | None = None, **parts: Any) -> ToolServices:
    """Return services whose commands run with `process` as the server's environment."""
    blobs = MemoryBlobs()
    made: dict[str, Any] = {
        "commands": Commands(PLAIN | (process or {}), home),
        "outputs": KeptOutputs(blobs.put, blobs.get),
        "files": ShownFiles(blobs.put),
    }
    return ToolServices(**made | parts)


def context(workspace: Path, given: ToolServices | None = None, **changes: Any) -> ToolContext:
    """Return a call's context."""
    values: dict[str, Any] = {
        "call_id": "call_1",
        "session_id": "session-1",
        "turn_id": "turn-1",
        "agent": "habakkuk",
        "interrupt": Interrupt(),
        "workspace": workspace,
        "services": given or services(workspace),
    }
    return ToolContext(**values | changes)


def call(tool: Tool, where: ToolContext, **arguments: Any) -> ToolOutput:
    """Run a tool as a turn does: arguments checked, refusals as error results."""
    try:
        return tool.run(tool.parse(arguments), where)
    except ToolError as error:
        return ToolOutput(str(error), is_error=True)
