"""Read a patch, whichever form it has."""

from __future__ import annotations

from habakkuk.core.errors import ToolError
from habakkuk.tools.patches.begin import BEGIN, read_begin
from habakkuk.tools.patches.types import FilePatch
from habakkuk.tools.patches.unified import read_unified

_MOST_FILES = 200
_MOST_HUNKS = 2_000


def read_patch(text: str) -> list[FilePatch]:
    """Return the parts of a patch in their order. Raises ToolError that says what is wrong."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if _sent_with_returns(lines):
        lines = [line.removesuffix("\r") for line in lines]
    if any(line.rstrip() == BEGIN for line in lines):
        parts = read_begin(lines)
    else:
        parts = read_unified(lines)
    if not parts:
        raise ToolError(
            "the patch changes no file: write a unified diff with '--- a/file', '+++ b/file' and"
            " '@@' lines, or '*** Begin Patch' … '*** End Patch'"
        )
    if len(parts) > _MOST_FILES or sum(len(part.hunks) for part in parts) > _MOST_HUNKS:
        raise ToolError(
            f"the patch has more than {_MOST_FILES} files or {_MOST_HUNKS} hunks; send it in parts"
        )
    return parts


def _sent_with_returns(lines: list[str]) -> bool:
    """Whether the carriage returns came with the sending: headers of the patch have them too."""
    heads = [line for line in lines if line.startswith(("@@", "--- ", "+++ ", "*** "))]
    return bool(heads) and all(line.endswith("\r") for line in heads)
