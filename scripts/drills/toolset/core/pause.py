"""A call that parks its turn for a moment."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, WaitFor, tool


class PauseArgs(ToolArgs):
    """What to answer with, and for how long to park, in seconds."""

    mark: str
    seconds: float


@tool(risk=Risk.READ, timeout_s=5, replayable=True, own_state=True)
def pause(args: PauseArgs, context: ToolContext) -> ToolOutput:
    """Wait for what never comes, then go on."""
    if context.resolution is None:
        raise WaitFor("pause", {}, args.seconds)
    return ToolOutput(f"waited {args.mark}")
