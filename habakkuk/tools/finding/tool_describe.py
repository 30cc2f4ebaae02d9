"""What one tool takes."""

from __future__ import annotations

import difflib

import orjson
from pydantic import Field

from habakkuk.core.errors import ToolError
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool
from habakkuk.tools.found import callable_now


class ToolDescribeArgs(ToolArgs):
    """Which tool."""

    name: str = Field(min_length=1, max_length=200, description="The tool's name.")


@tool(risk=Risk.READ, replayable=True)
def tool_describe(args: ToolDescribeArgs, context: ToolContext) -> ToolOutput:
    """Show what a tool does and which arguments it takes. It can be called from your next step."""
    specs = {spec.name: spec for spec in context.services.catalogue(context.agent)}
    spec = specs.get(args.name)
    if spec is None:
        near = ", ".join(difflib.get_close_matches(args.name, specs, n=3))
        hint = f"; near it are: {near}" if near else "; tool_search finds tools by what they do"
        raise ToolError(f"there is no tool {args.name!r}{hint}")
    schema = orjson.dumps(spec.parameters, option=orjson.OPT_INDENT_2).decode()
    text = f"{spec.name}: {spec.description}\n\nArguments:\n{schema}"
    return ToolOutput(f"{text}\n{callable_now([spec.name])}")
