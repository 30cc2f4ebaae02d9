"""A tool that only reads, so that it may run again after a crash."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class LookArgs(ToolArgs):
    """How long looking takes, in seconds."""

    seconds: float = 0.0


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def look(args: LookArgs, context: ToolContext) -> ToolOutput:
    """Count in looks.log in the workspace, then say that all is well."""
    context.workspace.mkdir(parents=True, exist_ok=True)
    with (context.workspace / "looks.log").open("a", encoding="utf-8") as out:
        out.write(context.call_id + "\n")
    context.interrupt.wait(args.seconds)
    context.interrupt.check()
    return ToolOutput("all is well")
