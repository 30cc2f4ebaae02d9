"""Which tools a model is told of: all of an agent's, or few and a way to find the others.

What was found stands after the rest in the order in which it was found, so that the beginning of
the list, and with it the provider's cache, stays the same over a session and over restarts.
"""

from __future__ import annotations

from collections.abc import Mapping

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import journal
from habakkuk.core.config.schema import AgentConfig
from habakkuk.db.engine import Database
from habakkuk.llm.types import ToolSpec
from habakkuk.tools.contract import Tool
from habakkuk.tools.found import FINDERS, FINDING, named_in
from habakkuk.tools.registry import ToolRegistry

_ALWAYS = "core"


def available(tools: ToolRegistry, agent: AgentConfig) -> Mapping[str, Tool]:
    """Return the tools that an agent's calls may name."""
    if _has_many(tools, agent):
        return tools.of([*agent.toolsets, FINDING])
    return tools.of(agent.toolsets)


def offered(run: TurnRun) -> tuple[ToolSpec, ...]:
    """Return what the model is told with its next call."""
    database, session = run.context.database, run.turn.session_id
    return offered_in(run.ports.tools, run.agent, database, session)


def offered_in(
    tools: ToolRegistry, agent: AgentConfig, database: Database, session_id: str
) -> tuple[ToolSpec, ...]:
    """Return what the model of a session is told."""
    if not _has_many(tools, agent):
        return tools.specs(agent.toolsets)
    always = [name for name in agent.toolsets if name == _ALWAYS]
    first = tools.specs([*always, FINDING])
    own, told = tools.of(agent.toolsets), {spec.name for spec in first}
    found = dict.fromkeys(
        name
        for result in journal.results_of(database, session_id, FINDERS)
        for name in named_in(result)
        if name in own and name not in told
    )
    return (*first, *(own[name].spec for name in found))


def _has_many(tools: ToolRegistry, agent: AgentConfig) -> bool:
    over = agent.tool_search_over
    return over >= 0 and len(tools.of(agent.toolsets)) > over
