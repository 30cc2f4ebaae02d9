"""Looking into a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.workspace import Workspace, open_workspace

_MOST = 500
# Folders with more entries than this are cut before they are sorted.
_SCANNED = 10_000
_MARKS = {stat.S_IFLNK: "@", stat.S_IFIFO: "|", stat.S_IFSOCK: "=", stat.S_IFREG: ""}


class ListDirArgs(ToolArgs):
    """Which folder, and how deep to look."""

    path: str = Field(default=".", description="The folder, from the workspace on.")
    depth: int = Field(default=1, ge=1, le=5, description="How many levels; 1 is the folder alone.")


@tool(risk=Risk.READ, timeout_s=30, replayable=True, paths=lambda args: [args.path])
def list_dir(args: ListDirArgs, context: ToolContext) -> ToolOutput:
    """List a folder of the workspace: names, and sizes in bytes.

    A folder ends in "/", a link in "@"; links are not followed.
    """
    lines: list[str] = []
    with open_workspace(context.workspace) as workspace:
        for line in _entries(workspace, args.path or ".", args.depth, ""):
            context.interrupt.check()
            if len(lines) == _MOST:
                lines.append(f"[more than {_MOST} entries; list a folder of it, or less deep]")
                break
            lines.append(line)
    return ToolOutput("\n".join(lines) if lines else "[the folder is empty]")


def _entries(workspace: Workspace, path: str, depth: int, before: str) -> Iterator[str]:
    for name, found in _scan(workspace, path):
        shown = before + _shown(name)
        if not stat.S_ISDIR(found.st_mode):
            mark = _MARKS.get(stat.S_IFMT(found.st_mode), "?")
            size = f"  {found.st_size}" if stat.S_ISREG(found.st_mode) else ""
            yield f"{shown}{mark}{size}"
            continue
        yield f"{shown}/"
        if depth > 1:
            yield from _below(workspace, f"{path}/{name}", depth - 1, f"{shown}/")


def _shown(name: str) -> str:
    """Return a name on one line: what does not show as itself is an escape."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _below(workspace: Workspace, path: str, depth: int, before: str) -> Iterator[str]:
    """List a folder inside; one that cannot be opened, or is gone, is said and passed over."""
    try:
        yield from _entries(workspace, path, depth, before)
    except ToolError as error:
        yield f"{before}[{str(error).rpartition(': ')[2]}]"


def _scan(workspace: Workspace, path: str) -> list[tuple[str, os.stat_result]]:
    found: list[tuple[str, os.stat_result]] = []
    with workspace.folder(path) as handle, os.scandir(handle) as entries:
        for entry in entries:
            try:
                found.append((entry.name, entry.stat(follow_symlinks=False)))
            except FileNotFoundError:
                # Gone between the listing and the look.
                continue
            if len(found) == _SCANNED:
                break
    return sorted(found, key=lambda pair: pair[0])
