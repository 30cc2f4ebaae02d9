"""Discord's ids: numbers that tell when something was made (its reference, "Snowflakes")."""

from __future__ import annotations

# Milliseconds of Discord's first moment since 1970, and the bits that stand behind the time.
_EPOCH_MS = 1_420_070_400_000
_SHIFT = 22


def is_id(text: str) -> bool:
    """Say whether a text is such a number: what stands in an address must be nothing else."""
    return text.isascii() and text.isdecimal() and len(text) <= len(str(2**63))


def made_at(number: int) -> float:
    """Return when the thing of an id was made, in seconds since 1970."""
    return ((number >> _SHIFT) + _EPOCH_MS) / 1000


def first_at(seconds: float) -> int:
    """Return the smallest id of what is made at a time, in seconds since 1970."""
    return max(0, round(seconds * 1000) - _EPOCH_MS) << _SHIFT
