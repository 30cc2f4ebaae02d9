"""The rules of .gitignore files above a folder, written as from the workspace on."""

from __future__ import annotations

from collections.abc import Iterator

from habakkuk.core.errors import ToolError
from habakkuk.tools.workspace import Workspace

_LARGEST = 200_000


def rules_above(workspace: Workspace, path: str) -> str:
    """Return the rules that hold where a search begins, the outer ones first, as one text.

    ripgrep reads the .gitignore of a folder that it searches, and of those below; what is above it
    would read up to the root of the file system.
    """
    parts = [part for part in path.split("/") if part not in {"", "."}]
    lines: list[str] = []
    for depth in range(len(parts)):
        folder = "/".join(parts[:depth])
        name = f"{folder}/.gitignore" if folder else ".gitignore"
        lines += _moved(_read(workspace, name), folder)
    return "".join(f"{line}\n" for line in lines)


def _read(workspace: Workspace, name: str) -> str:
    try:
        return workspace.read(name, _LARGEST).decode("utf-8", "replace")
    except ToolError:
        return ""


def _moved(text: str, folder: str) -> Iterator[str]:
    """Yield rules as a .gitignore of the workspace itself would have them."""
    for raw in text.removeprefix("\ufeff").split("\n"):
        line = raw.removesuffix("\r")
        if not line.strip() or line.startswith("#"):
            continue
        if not folder:
            yield line
            continue
        sign, rule = ("!", line[1:]) if line.startswith("!") else ("", line)
        anchored = "/" in rule.rstrip("/")
        above = "".join(f"\\{c}" if c in "*?[]{}!#\\ " else c for c in folder)
        yield f"{sign}/{above}/{'' if anchored else '**/'}{rule.removeprefix('/')}"
