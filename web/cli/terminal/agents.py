"""Which agent a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from habakkuk.core.config.schema import Config


def agent_called(config: Config, name: str | None) -> str:
    """Return the agent of a name, the default one without. Raises Invalid that lists them."""
    from habakkuk.core.errors import Invalid  # noqa: PLC0415 - not for --help

    wanted = name or config.main_agent
    if wanted not in config.agents:
        names = ", ".join(config.agents)
        raise Invalid(f"there is no agent {wanted!r}; the agents are: {names}")
    return wanted
