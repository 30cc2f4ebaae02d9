"""How long another system asks to be left alone (RFC 9110, section 10.2.3)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_WAIT = 3600.0


def seconds_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response names, None without; a date counts from now.

    Header names are in small letters.
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name)
        seconds = _seconds(value) if value else None
        if seconds is not None:
            return min(max(0.0, seconds * scale), _LONGEST_WAIT)
    return None


def _seconds(value: str) -> float | None:
    try:
        found = float(value)
    except ValueError:
        return _until(value)
    return found if found == found else None  # noqa: PLR0124 - NaN is the one that differs


def _until(value: str) -> float | None:
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - datetime.now(UTC)).total_seconds()
