"""A tool that does what tools should not do."""

from __future__ import annotations

import time

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class MisbehaveArgs(ToolArgs):
    """Which way."""

    how: str


@tool(risk=Risk.READ, timeout_s=0.3)
def misbehave(args: MisbehaveArgs, context: ToolContext) -> ToolOutput:
    """Raise, hang, ignore the interrupt, flood, or answer with text that cannot be stored."""
    if args.how == "raise":
        raise RuntimeError("a fault inside the tool")
    if args.how == "refuse":
        raise ToolError("there is nothing at that place; look elsewhere")
    if args.how == "hang":
        context.interrupt.wait(60)
        context.interrupt.check()
    if args.how == "deaf":
        time.sleep(4)
    if args.how == "flood":
        return ToolOutput("word " * 4_000)
    return ToolOutput("a\x00b\ud83d")
