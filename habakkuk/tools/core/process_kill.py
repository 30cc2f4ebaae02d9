"""Ending a background process."""

from __future__ import annotations

from pydantic import Field

from habakkuk.tools.background import desk_of, found, line
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class ProcessKillArgs(ToolArgs):
    """Which."""

    id: str = Field(description="The process's id.")


@tool(risk=Risk.WRITE, timeout_s=30, own_state=True, replayable=lambda _args: True)
def process_kill(args: ProcessKillArgs, context: ToolContext) -> ToolOutput:
    """End a background process and all that it started: it is asked to, and killed 2 s later.

    You get no message of its end.
    """
    process = found(context, args.id)
    ended = desk_of(context).kill(process.id, "process_kill", context.interrupt)
    return ToolOutput(line(ended), is_error=ended.state.alive)
