"""Which models an agent may ask, and how much one of them takes."""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.agent.ports import Fits
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ConfigurationError
from habakkuk.llm.choice import with_choice
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.selection import NO_MODEL, Selection
from habakkuk.llm.types import ModelRef
from habakkuk.llm.window import compact_at


def models_of(
    selection: Selection, agent: str, chosen: str | None
) -> tuple[Sequence[ModelRef], str | None]:
    """Return an agent's models, the one chosen for the session first, and what to say of them.

    Raises ConfigurationError that says what to set when there is none.
    """
    models = selection.agents.get(agent)
    if models is None:
        raise ConfigurationError(f"the agent {agent!r} is no longer configured")
    chain, passed_over = with_choice(selection, models.chain, chosen)
    if not chain:
        raise ConfigurationError(models.problem or NO_MODEL)
    return chain, passed_over


def fits(selection: Selection, ref: ModelRef, agent: AgentConfig) -> Fits:
    """Return how long a session may be for a model, by the agent's settings."""
    endpoint = selection.endpoints.get(ref.provider)
    profile = profile_for(ref)
    kind = endpoint.type if endpoint is not None else ""
    return Fits(compact_at(agent.compact_at, kind, profile), profile.context_window)
