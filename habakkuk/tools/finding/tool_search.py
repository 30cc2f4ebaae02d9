"""Finding tools by what they do."""

from __future__ import annotations

from pydantic import Field

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.found import callable_now
from habakkuk.tools.ranking import rank

_MOST = 20
_SUMMARY = 200


class ToolSearchArgs(ToolArgs):
    """Words that say what is wanted."""

    query: str = Field(
        min_length=1, max_length=500, description="What it should do or be called, in some words."
    )
    limit: int = Field(default=5, ge=1, le=_MOST, description="How many to show at most.")


@tool(risk=Risk.READ, replayable=True)
def tool_search(args: ToolSearchArgs, context: ToolContext) -> ToolOutput:
    """Find tools that are not in your list. What it names can be called from your next step on."""
    found = rank(context.services.catalogue(context.agent), args.query)[: args.limit]
    if not found:
        return ToolOutput(f"No tool fits {args.query!r}. Try other words, such as its subject.")
    lines = [f"{spec.name}: {_summary(spec.description)}" for spec in found]
    return ToolOutput("\n".join([*lines, callable_now([spec.name for spec in found])]))


def _summary(description: str) -> str:
    return description.partition("\n")[0][:_SUMMARY]
