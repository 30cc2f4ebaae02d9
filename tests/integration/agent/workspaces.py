"""What the tests of checkpoints and of undos share: files of the workspace, and what /undo said."""

from __future__ import annotations

import json
from pathlib import Path

from habakkuk.conversations.types import ChatMessage
from habakkuk.gateway.types import Admitted
from tests.fakes.stack import Stack, until


def workspace(stack: Stack) -> Path:
    return stack.home / "agents/habakkuk/workspace"


def writes(name: str, content: str) -> str:
    """Return words that let the model write a file."""
    given = json.dumps({"path": name, "content": content})
    return f"[[tool write_file {given}]]"


def notices(stack: Stack, admitted: Admitted) -> list[ChatMessage]:
    return [row for row in stack.rows(admitted) if row.author == "system"]


def results(stack: Stack, admitted: Admitted) -> list[ChatMessage]:
    """Return what became of undos."""
    return [row for row in notices(stack, admitted) if row.kind == "notice"]


def undone(stack: Stack, said: int = 1) -> str:
    """Say /undo and wait for what became of it."""
    admitted = stack.say("/undo")
    until(lambda: len(results(stack, admitted)) >= said)
    return results(stack, admitted)[-1].body
