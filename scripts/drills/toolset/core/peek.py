"""A call that only reads, so that it runs again after a crash."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class PeekArgs(ToolArgs):
    """What to answer with, and how long that takes, in seconds."""

    mark: str
    seconds: float = 0.0


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def peek(args: PeekArgs, context: ToolContext) -> ToolOutput:
    """Look, and say the mark."""
    context.interrupt.wait(args.seconds)
    context.interrupt.check()
    return ToolOutput(f"seen {args.mark}")
