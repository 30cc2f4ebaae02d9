"""Reading a text file."""

from __future__ import annotations

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.texts import decode
from habakkuk.tools.workspace import open_workspace

_LARGEST = 20_000_000
# Below the budget of one result, so that nothing is kept twice that already is a file.
_CHARS = 25_000
_LINES = 2_000


class ReadFileArgs(ToolArgs):
    """Which file, and which lines of it."""

    path: str = Field(description="The file, from the workspace on, such as notes/plan.md.")
    offset: int = Field(
        default=1, ge=1, description="The first line to return; lines count from 1."
    )
    limit: int = Field(default=_LINES, ge=1, le=100_000, description="How many lines at most.")


@tool(risk=Risk.READ, timeout_s=30, replayable=True, paths=lambda args: [args.path])
def read_file(args: ReadFileArgs, context: ToolContext) -> ToolOutput:
    """Read a text file of the workspace, whole or some of its lines.

    The text comes as it is, without line numbers. What is left out is said at the end, with the
    offset that reads on.
    """
    with open_workspace(context.workspace) as workspace:
        data = workspace.read(args.path, _LARGEST)
    found = decode(data, args.path)
    lines = _lines(found.text)
    if args.offset > max(1, len(lines)):
        raise ToolError(f"{args.path}: has {len(lines)} lines; offset {args.offset} is past them")
    shown, count = _fitting(lines[args.offset - 1 : args.offset - 1 + args.limit])
    notes = [*found.notes, *_position(args.offset, count, len(lines))]
    if not lines:
        notes.append("the file is empty")
    note = f"[{'; '.join(notes)}]" if notes else ""
    return ToolOutput("\n".join(part for part in (shown.removesuffix("\n"), note) if part))


def _lines(text: str) -> list[str]:
    """Return the lines with their ends: a line feed alone, as edit_file counts them."""
    *ended, last = text.split("\n")
    return [f"{line}\n" for line in ended] + ([last] if last else [])


def _fitting(lines: list[str]) -> tuple[str, int]:
    """Return as many whole lines as fit, and their number; of a first that is too long, a part."""
    size = 0
    for count, line in enumerate(lines):
        size += len(line)
        if size > _CHARS:
            if count:
                return "".join(lines[:count]), count
            left = len(line) - _CHARS
            return f"{line[:_CHARS]}\n[… this line has {left} more characters …]", 1
    return "".join(lines), len(lines)


def _position(offset: int, count: int, total: int) -> list[str]:
    if count == total:
        return []
    last = offset + count - 1
    more = f"; offset {last + 1} reads on" if last < total else ""
    return [f"lines {offset} to {last} of {total}{more}"]
