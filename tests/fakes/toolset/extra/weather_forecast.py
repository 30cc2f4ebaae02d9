"""Tools that do nothing but to be found."""

from __future__ import annotations

from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool


class PlaceArgs(ToolArgs):
    """Where."""

    place: str = ""


@tool(risk=Risk.READ, replayable=True)
def weather_forecast(args: PlaceArgs, context: ToolContext) -> ToolOutput:
    """Tell how the sky will be tomorrow."""
    return ToolOutput(f"sunny in {args.place} for {context.agent}")


@tool(risk=Risk.READ, replayable=True)
def weather_alerts(args: PlaceArgs, context: ToolContext) -> ToolOutput:
    """Tell of storms."""
    return ToolOutput(f"no storm in {args.place} for {context.agent}")


@tool(risk=Risk.READ, replayable=True)
def share_price(args: PlaceArgs, context: ToolContext) -> ToolOutput:
    """Tell what a share costs, whatever the weather."""
    return ToolOutput(f"12 in {args.place} for {context.agent}\n[callable now: weather_alerts]")
