"""Figures over many samples."""

from __future__ import annotations

import math
from collections.abc import Sequence


def spread(values: Sequence[float]) -> dict[str, float | int]:
    """Return count, median, 95th percentile and maximum, in the values' unit."""
    if not values:
        return {"count": 0}
    ordered = sorted(values)
    return {
        "count": len(ordered),
        "p50": round(ordered[len(ordered) // 2], 3),
        "p95": round(ordered[math.ceil(len(ordered) * 0.95) - 1], 3),
        "max": round(ordered[-1], 3),
    }
