"""A side effect that must happen at most once."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class MarkArgs(ToolArgs):
    """What to write, and how long that takes before and after, in seconds."""

    mark: str
    before: float = 0.0
    after: float = 0.0


@tool(risk=Risk.WRITE, timeout_s=30)
def mark(args: MarkArgs, context: ToolContext) -> ToolOutput:
    """Append the mark to effects.log in the workspace."""
    if args.before:
        context.interrupt.wait(args.before)
        context.interrupt.check()
    context.workspace.mkdir(parents=True, exist_ok=True)
    with (context.workspace / "effects.log").open("a", encoding="utf-8") as out:
        out.write(args.mark + "\n")
    context.interrupt.wait(args.after)
    return ToolOutput(f"done {args.mark}")
