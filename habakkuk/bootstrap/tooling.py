"""What agents work with, made from the settings."""

from __future__ import annotations

from pathlib import Path

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.config.settings import Settings
from habakkuk.tools.commands import Commands
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.sandbox.contract import Ground

_TOOL_PACKAGE = "habakkuk.tools"
_TEST_TOOLS = "HABAKKUK_TEST_TOOLS"


def commands_of(settings: Settings) -> Commands:
    """Return what runs commands, with the sandbox of each agent."""
    process, limits = settings.environment.process, settings.config.commands
    secret = settings.environment.get
    ground = Ground(process, settings.home, limits=limits, secret=secret)
    return Commands.on(ground, settings.config.agents)


def tool_packages(settings: Settings) -> list[str]:
    """Return where tools are found; the test-only setting adds a package of theirs."""
    extra = settings.environment.get(_TEST_TOOLS)
    return [_TOOL_PACKAGE, *([extra] if extra else [])]


def tools_of(settings: Settings) -> ToolRegistry:
    """Return the tools of this server."""
    return ToolRegistry(tool_packages(settings), channels=bool(settings.config.channels))


def agent_of(settings: Settings, name: str) -> AgentConfig:
    """Return the settings of an agent, the plain ones for one that is gone."""
    return settings.config.agents.get(name, AgentConfig())


def workspace_of(home: Path, agent: str) -> Path:
    """Return the folder in which an agent works."""
    return home / "agents" / agent / "workspace"
