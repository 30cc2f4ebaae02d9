"""Reading on in an output that was too long."""

from __future__ import annotations

from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.outside import framed

_MOST = 25_000


class ReadOutputArgs(ToolArgs):
    """Which output, and which part of it."""

    handle: str = Field(description="The handle that the shortened result names.")
    offset: int = Field(default=0, ge=0, description="How many characters to pass over.")
    limit: int = Field(default=_MOST, ge=1, le=_MOST, description="How many characters at most.")


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def read_output(args: ReadOutputArgs, context: ToolContext) -> ToolOutput:
    """Read more of a tool result that was too long to be shown whole."""
    kept = context.services.outputs.read(context.session_id, args.handle)
    text = kept.text
    if args.offset >= len(text):
        raise ToolError(
            f"this output has {len(text)} characters; offset {args.offset} is past them"
        )
    end = min(len(text), args.offset + args.limit)
    more = f"; offset {end} reads on" if end < len(text) else ""
    note = f"[characters {args.offset} to {end} of {len(text)}{more}]"
    part = text[args.offset : end]
    shown = framed(note, part) if kept.outside else f"{part}\n{note}"
    return ToolOutput(shown, outside=kept.outside)
