"""Where files that came with messages lie in an agent's workspace."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from habakkuk.core.errors import ToolError
from habakkuk.core.text import clean
from habakkuk.tools.workspace import Workspace, open_workspace

FOLDER = "inbox"
_UNSAFE = re.compile(r"[^\w.+-]+")
_ENDING = re.compile(r"\.[A-Za-z0-9]{1,10}")
# A file system takes 255 bytes of a name; a letter has four at most.
_LONGEST_STEM = 50
_DIGEST = 8
_MOST_TRIES = 20
_PIECE = 262_144


def file_name(name: str, mime: str, digest: str) -> str:
    """Return a name that no shell, file system or screen takes for something else.

    It holds the beginning of the content's digest, so that other content has another name.
    """
    last = PurePosixPath(clean(name).replace("\\", "/")).name
    ending = PurePosixPath(last).suffix
    if _ENDING.fullmatch(ending) is None:
        ending = mimetypes.guess_extension(mime, strict=False) or ""
    stem = _UNSAFE.sub("_", last.removesuffix(ending)).strip("._-")[:_LONGEST_STEM]
    return f"{stem or 'file'}-{digest[:_DIGEST]}{ending.lower()}"


def put(
    workspace: Path, name: str, source: BinaryIO, before: Callable[[str], None] = lambda _path: None
) -> str:
    """Write a file to the inbox and return its path from the workspace on. Raises ToolError.

    The same content under the same name is written once. One that was changed there stays.
    `before` is told each path at which it may come to lie, before it does.
    """
    with open_workspace(workspace) as opened:
        refused = ToolError(f"{name}: there are too many of this name")
        for number in range(1, _MOST_TRIES + 1):
            path = f"{FOLDER}/{_numbered(name, number)}"
            before(path)
            try:
                if _is_written(opened, path, source):
                    return path
            except ToolError as error:
                # A folder or a link may stand there; what no name mends is told at the end.
                refused = error
        raise refused


def _is_written(workspace: Workspace, path: str, source: BinaryIO) -> bool:
    if workspace.mode(path) is None:
        workspace.write(path, source)
        return True
    try:
        with workspace.opened(path) as there:
            return _is_same(there, source)
    except ToolError:
        return False


def _is_same(one: BinaryIO, other: BinaryIO) -> bool:
    other.seek(0)
    while (piece := one.read(_PIECE)) == other.read(_PIECE):
        if not piece:
            return True
    return False


def _numbered(name: str, number: int) -> str:
    path = PurePosixPath(name)
    return name if number == 1 else f"{path.stem}-{number}{path.suffix}"
