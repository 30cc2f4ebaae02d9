"""Find the tools: one module a tool, in a package a toolset, never listed anywhere."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence

from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.types import ToolSpec
from habakkuk.tools.contract import Tool


class ToolRegistry:
    """Every tool of the toolsets that were found."""

    def __init__(
        self, packages: Iterable[str] = ("habakkuk.tools",), *, channels: bool = True
    ) -> None:
        """Import the toolsets below each package. Raises ConfigurationError on a doubled name.

        `channels`: there are accounts of channels, so that what needs one is there.
        """
        self._channels = channels
        self._toolsets: dict[str, dict[str, Tool]] = {}
        for package in packages:
            for toolset in pkgutil.iter_modules(importlib.import_module(package).__path__):
                if toolset.ispkg:
                    self._load(toolset.name, f"{package}.{toolset.name}")

    def _load(self, toolset: str, package: str) -> None:
        found = self._toolsets.setdefault(toolset, {})
        for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
            members = vars(importlib.import_module(f"{package}.{module.name}")).values()
            for tool in (member for member in members if isinstance(member, Tool)):
                if tool.needs_channels and not self._channels:
                    continue
                if found.setdefault(tool.name, tool) is not tool:
                    raise ConfigurationError(f"two tools are named {tool.name!r} in {toolset!r}")

    def of(self, toolsets: Sequence[str]) -> dict[str, Tool]:
        """Return the tools of these toolsets by name; a toolset without tools adds none."""
        return {
            name: tool
            for toolset in toolsets
            for name, tool in self._toolsets.get(toolset, {}).items()
        }

    def specs(self, toolsets: Sequence[str]) -> tuple[ToolSpec, ...]:
        """Return what the model is told, sorted by name: the cached prefix stays the same."""
        tools = self.of(toolsets)
        return tuple(tools[name].spec for name in sorted(tools))
