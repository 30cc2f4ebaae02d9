"""What a path says, before anything is looked up."""

from __future__ import annotations

from pathlib import Path

from habakkuk.core.errors import ToolError

_LONGEST_PATH = 4096
_DEEPEST = 64


def inside(path: str, workspace: Path) -> tuple[str, ...]:
    """Return the names that lead from the workspace to `path`. Raises ToolError when none do.

    Nothing is looked up: this is what the path says, for the walk and for approvals alike.
    """
    _check_text(path)
    if path.startswith("~"):
        raise ToolError(f"{path}: '~' is not expanded; write the path from the workspace on")
    names = [name for name in path.split("/") if name not in {"", "."}]
    if ".." in names:
        raise ToolError(f"{path}: '..' is not allowed; write the path from the workspace on")
    if path.startswith("/"):
        root = workspace.parts[1:]
        if tuple(names[: len(root)]) != root:
            raise ToolError(f"{path}: outside the workspace {workspace}")
        names = names[len(root) :]
    if len(names) > _DEEPEST:
        raise ToolError(f"the path has more than {_DEEPEST} levels")
    return tuple(names)


def _check_text(path: str) -> None:
    if len(path) > _LONGEST_PATH:
        raise ToolError(f"the path is longer than {_LONGEST_PATH} characters")
    if "\0" in path:
        raise ToolError("the path holds a NUL character")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError("the path holds half of a character (a lone surrogate)") from error
