"""Writing to a background process's input."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.core.ids import derive
from habakkuk.processes.types import NewInput, Written
from habakkuk.processes.words import standing
from habakkuk.tools.background import desk_of, found
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.hardline.check import hardline, typed_hardline
from habakkuk.tools.texts import encode

_MOST = 100_000


class ProcessWriteArgs(ToolArgs):
    """To which, and what."""

    id: str = Field(description="The process's id.")
    stdin: str = Field(
        max_length=_MOST, description="What to write, with the line feed that ends a line."
    )
    eof: bool = Field(default=False, description="Close its input afterwards.")


def _never(args: ProcessWriteArgs, _workspace: Path) -> str | None:
    # A shell may read it.
    return hardline(args.stdin, None, fresh=False)


@tool(risk=Risk.EXECUTE, timeout_s=30, replayable=lambda _args: True, never=_never)
def process_write(args: ProcessWriteArgs, context: ToolContext) -> ToolOutput:
    """Write to the standard input of a background process, and close it if asked to.

    It has no terminal: some programs then behave as in a script.
    """
    process = found(context, args.id)
    data = encode(args.stdin, "what is to be written")
    if not data and not args.eof:
        raise ToolError("there is nothing to write; eof: true closes the input")
    if not process.state.alive:
        raise ToolError(f"{process.id} {standing(process)}")
    new = NewInput(process.id, derive("in", context.turn_id, context.call_id), data, args.eof)

    def judge(before: bytes) -> str | None:
        return typed_hardline(before.decode("utf-8", "replace"), args.stdin)

    written = desk_of(context).write(new, judge, context.interrupt)
    if written is Written.CLOSED:
        raise ToolError(
            f"{process.id} takes no more input: it has closed it, has ended, or does not read the"
            " megabyte that it was given"
        )
    if written is Written.PENDING:
        return ToolOutput(f"{process.id} does not read its input just now; it is kept for it.")
    closed = " and closed its input" if args.eof else ""
    return ToolOutput(f"Wrote {len(data)} bytes{closed}.")
