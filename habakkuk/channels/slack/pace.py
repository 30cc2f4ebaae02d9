"""How often Slack may be asked for the histories of a workspace."""

from __future__ import annotations

from collections import deque

# https://docs.slack.dev/apis/web-api/rate-limits: 50 in a minute in Tier 3, of which some are
# left to those who look for what was sent.
_MOST_IN_A_MINUTE, _MINUTE = 40, 60.0


class Pace:
    """When Slack may be asked next, by the monotonic clock."""

    def __init__(self, most: int = _MOST_IN_A_MINUTE) -> None:
        """Allow so many calls in any minute."""
        self._most = most
        self._made: deque[float] = deque()
        self._free = 0.0

    def left(self, now: float) -> float:
        """Return for how many seconds nothing may be asked."""
        while self._made and now - self._made[0] >= _MINUTE:
            self._made.popleft()
        full = len(self._made) >= self._most
        turn = self._made[0] + _MINUTE - now if full else 0.0
        return max(0.0, turn, self._free - now)

    def called(self, now: float) -> None:
        """Note a call."""
        self._made.append(now)

    def hold(self, now: float, seconds: float) -> None:
        """Ask nothing for so long."""
        self._free = max(self._free, now + seconds)
