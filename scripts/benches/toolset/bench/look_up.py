"""Tools of a usual size that nobody calls: they only stand in the request."""

from __future__ import annotations

from dataclasses import replace

from pydantic import Field

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool

# With those of the toolset `core` there are twenty.
_COUNT = 13


class LookUpArgs(ToolArgs):
    """What to look for, and where."""

    query: str = Field(description="Words that the entry must have; quotes keep a phrase whole.")
    place: str = Field(default="everywhere", description="The shelf to look on, or everywhere.")
    limit: int = Field(default=10, ge=1, le=100, description="How many entries are enough.")
    newest_first: bool = Field(default=False, description="Sort by time rather than by fit.")


@tool(risk=Risk.READ, timeout_s=5, replayable=True)
def look_up(args: LookUpArgs, context: ToolContext) -> ToolOutput:
    """Look something up in the catalogue and return the entries that fit best.

    Each entry has its number, its title and a line about it. Ask again with other words when
    nothing fits; ask for fewer when the list is long.
    """
    context.interrupt.check()
    return ToolOutput(f"nothing about {args.query}")


# A toolset's tools are the members of its modules: thirteen of one form need no thirteen files.
globals().update({f"look_up_{n}": replace(look_up, name=f"look_up_{n}") for n in range(1, _COUNT)})
