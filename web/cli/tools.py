"""`habakkuk tools`: what agents have, and what they may do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from web.cli.terminal.agents import agent_called
from web.cli.terminal.opened import read_settings
from web.cli.terminal.output import output_option, print_json, print_table

if TYPE_CHECKING:
    from habakkuk.tools.contract import Tool
    from habakkuk.tools.outlook import Outlook

_SEARCHED = (
    "\nThese are more than {most} (tool_search_over): {name} is told of the toolset core and finds"
    " the others with tool_search and tool_describe."
)
_WORDS = {"allow": "runs", "ask": "asks", "deny": "refused"}


@click.group("tools")
def command() -> None:
    """Look at the tools of an agent."""


@command.command("list")
@click.option("--agent", metavar="NAME", help="The agent; the default one otherwise.")
@output_option
def list_tools(agent: str | None, output: str) -> None:
    """List an agent's tools and what its permissions do with each; needs no database."""
    from habakkuk.tools.outlook import outlook  # noqa: PLC0415 - not for --help
    from habakkuk.tools.registry import ToolRegistry  # noqa: PLC0415 - not for --help

    config = read_settings().config
    name = agent_called(config, agent)
    chosen = config.agents[name]
    tools = ToolRegistry(channels=bool(config.channels)).of(chosen.toolsets)
    found = [(tools[key], outlook(chosen.permissions, tools[key])) for key in sorted(tools)]
    if output == "json":
        listed = [_as_json(tool, seen) for tool, seen in found]
        print_json(agent=name, permissions=str(chosen.permissions), tools=listed)
        return
    click.echo(f"{name} (permissions: {chosen.permissions})\n")
    rows = [(tool.name, str(tool.risk), _shown(seen), _summary(tool)) for tool, seen in found]
    print_table(("NAME", "RISK", "WHEN CALLED", "WHAT IT DOES"), rows)
    if 0 <= chosen.tool_search_over < len(tools):
        click.echo(_SEARCHED.format(name=name, most=chosen.tool_search_over))


def _shown(seen: Outlook) -> str:
    words = _WORDS[seen.inside]
    if seen.outside != seen.inside:
        return f"{words} in the workspace, {_WORDS[seen.outside]} outside"
    if seen.tainted != seen.inside:
        return f"{words}, {_WORDS[seen.tainted]} after outside content"
    return words


def _summary(tool: Tool) -> str:
    return tool.description.partition("\n")[0]


def _as_json(tool: Tool, seen: Outlook) -> dict[str, str]:
    return {
        "name": tool.name,
        "risk": str(tool.risk),
        "inside_workspace": _WORDS[seen.inside],
        "outside_workspace": _WORDS[seen.outside],
        "after_outside_content": _WORDS[seen.tainted],
        "description": _summary(tool),
    }
