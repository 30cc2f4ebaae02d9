"""Reading what a background process prints."""

from __future__ import annotations

from pydantic import Field

from habakkuk.tools.background import desk_of, found, shown
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool

_MOST = 25_000


class ProcessOutputArgs(ToolArgs):
    """Whose output, and which part of it."""

    id: str = Field(description="The process's id.")
    since: int = Field(
        default=0,
        description="The byte to begin at, as the last result named it; -2000: the last 2000.",
    )
    max_bytes: int = Field(default=_MOST, ge=1, le=_MOST, description="How many bytes at most.")


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def process_output(args: ProcessOutputArgs, context: ToolContext) -> ToolOutput:
    """Read what a background process has printed, to its output and its errors.

    Positions count every byte it ever printed; the last 4 to 8 MB are kept, for a day after it.
    """
    process = found(context, args.id)
    part = desk_of(context).read(process.id, args.since, args.max_bytes)
    if part.next < part.end or process.state.alive:
        part = part.whole_characters()
    text = shown(process, part)
    if 0 <= args.since < part.start:
        dropped = part.start - args.since
        text = f"[{dropped} bytes from {args.since} on are dropped: only the last are kept]\n{text}"
    return ToolOutput(text)
