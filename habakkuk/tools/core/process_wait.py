"""Waiting for the end of a background process."""

from __future__ import annotations

from pydantic import Field

from habakkuk.tools.background import desk_of, found, shown
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool

_LONGEST = 600.0
_TAIL = 4_000


class ProcessWaitArgs(ToolArgs):
    """For what, and how long at most."""

    id: str = Field(description="The process's id.")
    timeout_seconds: float = Field(
        default=60.0, gt=0, le=_LONGEST, description="How many seconds to wait at most."
    )


@tool(risk=Risk.READ, timeout_s=_LONGEST + 20, replayable=True)
def process_wait(args: ProcessWaitArgs, context: ToolContext) -> ToolOutput:
    """Wait for a background process to end, and return how it stands and the end of its output.

    When the time is over it runs on.
    """
    process = found(context, args.id)
    desk = desk_of(context)
    process = desk.wait(process.id, args.timeout_seconds, context.interrupt)
    return ToolOutput(shown(process, desk.read(process.id, -_TAIL, _TAIL).whole_characters()))
