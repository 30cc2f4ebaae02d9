"""Find an agent's sandbox: the module named as the setting, with its one Sandbox in it."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Mapping

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.tools.sandbox.contract import Ground, Sandbox


class Sandboxes:
    """The sandbox of each agent, made when it is first needed. Thread-safe."""

    def __init__(self, ground: Ground, agents: Mapping[str, AgentConfig] | None = None) -> None:
        """Take the configured agents; None: every agent's commands run here, in no sandbox."""
        self._ground = ground
        self._agents = agents
        self._made: dict[str, Sandbox] = {}
        self._lock = threading.Lock()

    def here(self) -> Sandbox:
        """Return what runs commands on this machine."""
        return sandbox_class("none")(self._ground, "", AgentConfig())

    def of(self, agent: str) -> Sandbox:
        """Return an agent's sandbox. Raises ToolError for one that is not configured (any more)."""
        with self._lock:
            if agent not in self._made:
                self._made[agent] = self._make(agent)
            return self._made[agent]

    def _make(self, agent: str) -> Sandbox:
        config = AgentConfig() if self._agents is None else self._agents.get(agent)
        if config is None:
            # Which sandbox was meant for it nobody knows by now: none is not the answer.
            raise ToolError(f"the agent {agent!r} is not configured, so its commands are not run")
        return sandbox_class(config.sandbox)(self._ground, agent, config)


def sandbox_class(name: str) -> type[Sandbox]:
    """Return the class of a sandbox by the name of its setting."""
    module = importlib.import_module(f"habakkuk.tools.sandbox.{name}")
    found = [
        member
        for member in vars(module).values()
        if isinstance(member, type)
        and issubclass(member, Sandbox)
        and member.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise AssertionError(f"{module.__name__} must hold one Sandbox, and holds {len(found)}")
    return found[0]
