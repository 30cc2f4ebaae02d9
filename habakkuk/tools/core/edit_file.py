"""Changing a part of a file."""

from __future__ import annotations

import difflib
import heapq

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.texts import encode, refuse_binary
from habakkuk.tools.workspace import open_workspace

_LARGEST = 20_000_000
# How many lines are compared to find what was meant: comparing costs some 20 µs a line.
_COMPARED = 20_000
_WIDEST = 500
_LIKELY = 50
_NEAR = 0.6
_SHOWN = 5


class EditFileArgs(ToolArgs):
    """Which file, what to look for, what to put in its place."""

    path: str = Field(description="The file, from the workspace on.")
    old: str = Field(
        min_length=1,
        description="The text to replace, exactly as it stands in the file, whitespace included,"
        " with enough around it to occur once.",
    )
    new: str = Field(description="What stands there instead; empty removes it.")
    replace_all: bool = Field(default=False, description="Replace every occurrence, not just one.")


@tool(risk=Risk.WRITE, timeout_s=60, paths=lambda args: [args.path])
def edit_file(args: EditFileArgs, context: ToolContext) -> ToolOutput:
    """Replace an exact piece of text in a file of the workspace.

    The text must occur once, or replace_all be set. Read the file first, so that it is exact.
    """
    context.services.commands.refuse_writing(context.agent)
    if args.old == args.new:
        raise ToolError("old and new are the same text")
    with (
        open_workspace(context.workspace) as workspace,
        workspace.alone(args.path, context.interrupt),
    ):
        text = _text(workspace.read(args.path, _LARGEST), args.path)
        old, new = _with_line_ends(args, text)
        count = text.count(old)
        _expect(args, text, count)
        workspace.write(args.path, encode(text.replace(old, new), "the new text"))
    line = text.count("\n", 0, text.index(old)) + 1
    if count == 1:
        return ToolOutput(f"Replaced 1 occurrence in {args.path}, at line {line}.")
    return ToolOutput(f"Replaced {count} occurrences in {args.path}, the first at line {line}.")


def _text(data: bytes, path: str) -> str:
    refuse_binary(data, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ToolError(
            f"{path}: line {line} is no UTF-8; change this file with exec, which keeps its bytes"
        ) from error


def _with_line_ends(args: EditFileArgs, text: str) -> tuple[str, str]:
    """Return old and new with the file's line ends: models write line feeds."""
    if "\r\n" not in text or "\r\n" in args.old or "\n" not in args.old + args.new:
        return args.old, args.new
    return args.old.replace("\n", "\r\n"), args.new.replace("\r\n", "\n").replace("\n", "\r\n")


def _expect(args: EditFileArgs, text: str, count: int) -> None:
    if count == 0:
        raise ToolError(f"{args.path}: the text does not occur in it.{_nearest(args.old, text)}")
    if count > 1 and not args.replace_all:
        old, _ = _with_line_ends(args, text)
        lines = ", ".join(map(str, _lines_of(old, text)))
        raise ToolError(
            f"{args.path}: the text occurs {count} times (lines {lines}); give more of what stands"
            " around it, or set replace_all"
        )


def _lines_of(old: str, text: str) -> list[int]:
    lines: list[int] = []
    at = -1
    while len(lines) < _SHOWN and (at := text.find(old, at + 1)) >= 0:
        lines.append(text.count("\n", 0, at) + 1)
    return lines


def _nearest(old: str, text: str) -> str:
    """Return the line that looks most like the first of `old`, as a sentence."""
    wanted = next((line.strip() for line in old.splitlines() if line.strip()), "")[:_WIDEST]
    lines = text.split("\n")[:_COMPARED]
    matcher = difflib.SequenceMatcher(b=wanted)
    # First by a quick look at each: to compare two lines in earnest can take 5 ms.
    rated = ((_quick(matcher, line), number) for number, line in enumerate(lines, 1))
    likely = heapq.nlargest(_LIKELY, rated)
    rating, number = max(
        ((_ratio(matcher, lines[number - 1]), number) for _, number in likely), default=(0.0, 0)
    )
    if rating < _NEAR:
        return " Read the file again."
    return f" The nearest is line {number}:\n{lines[number - 1][:_WIDEST]}"


def _quick(matcher: difflib.SequenceMatcher[str], line: str) -> float:
    matcher.set_seq1(line.strip()[:_WIDEST])
    return matcher.real_quick_ratio() and matcher.quick_ratio()


def _ratio(matcher: difflib.SequenceMatcher[str], line: str) -> float:
    matcher.set_seq1(line.strip()[:_WIDEST])
    return matcher.ratio()
