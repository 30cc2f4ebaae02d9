"""How hard a model is asked to think, in the levels that it takes."""

from __future__ import annotations

from habakkuk.llm.contract import Profile
from habakkuk.llm.types import EFFORTS


def fitting_effort(wanted: str | None, profile: Profile) -> str | None:
    """Return the model's level nearest to `wanted`, the lesser of two; None when it takes none.

    Raises ValueError for a word that is not in EFFORTS.
    """
    if wanted is None or not profile.efforts:
        return None
    place = EFFORTS.index(wanted)
    return min(profile.efforts, key=lambda level: abs(EFFORTS.index(level) - place))
