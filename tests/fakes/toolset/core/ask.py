"""A tool that waits for a person."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, WaitFor, tool


class AskArgs(ToolArgs):
    """What to ask, and for how long to wait, in seconds."""

    question: str
    expires_in: float | None = None


@tool(risk=Risk.READ, timeout_s=5, replayable=True, own_state=True)
def ask(args: AskArgs, context: ToolContext) -> ToolOutput:
    """Ask a person and return the answer."""
    if context.resolution is None:
        raise WaitFor("question", {"question": args.question}, args.expires_in)
    answer = (context.resolution.answer or {}).get("text", "")
    return ToolOutput(f"{context.resolution.outcome}: {answer}")
