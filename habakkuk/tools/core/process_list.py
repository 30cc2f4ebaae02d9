"""Which background processes there are."""

from __future__ import annotations

from habakkuk.tools.background import desk_of, line
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class ProcessListArgs(ToolArgs):
    """Nothing."""


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def process_list(args: ProcessListArgs, context: ToolContext) -> ToolOutput:  # noqa: ARG001 - a tool's form
    """List your background processes: those that run, then the last 50 that ended."""
    listed = desk_of(context).list(context.agent)
    return ToolOutput("\n".join(map(line, listed)) or "There are no background processes.")
