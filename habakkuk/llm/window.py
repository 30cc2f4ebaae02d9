"""How long a conversation may grow before it is summed up."""

from __future__ import annotations

from habakkuk.llm.contract import Profile

# The seed's thresholds (Habakkuk, Compaction): Anthropic's models and their cache take more.
_ANTHROPIC = 600_000
_OTHERS = 150_000
# Of what the model takes: the answer and what a guess misses need the rest.
_USABLE = 0.8
NEVER = -1


def compact_at(chosen: int | None, provider_type: str, profile: Profile) -> int | None:
    """Return the tokens at which a session is summed up, None for never.

    `chosen` is the agent's own setting; without one it is the seed's, or what the model takes.
    """
    if chosen == NEVER:
        return None
    if chosen is not None:
        return chosen
    usual = _ANTHROPIC if provider_type == "anthropic" else _OTHERS
    if profile.context_window is None:
        return usual
    return min(usual, int(profile.context_window * _USABLE))
