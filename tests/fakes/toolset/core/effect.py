"""A side effect that can be counted from outside."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class EffectArgs(ToolArgs):
    """How long the effect takes, before and after it happens, in seconds."""

    before: float = 0.0
    after: float = 0.0


@tool(risk=Risk.WRITE, timeout_s=30)
def effect(args: EffectArgs, context: ToolContext) -> ToolOutput:
    """Append the call's id to effects.log in the workspace."""
    context.interrupt.wait(args.before)
    context.interrupt.check()
    context.workspace.mkdir(parents=True, exist_ok=True)
    with (context.workspace / "effects.log").open("a", encoding="utf-8") as out:
        out.write(context.call_id + "\n")
    context.interrupt.wait(args.after)
    return ToolOutput(f"done {context.call_id}")
