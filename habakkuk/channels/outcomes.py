"""How a request to a platform fails, as far as anybody knows.

    HabakkukError
    ├── Refused     it answered, and did not do it; a channel adds the platform's own words
    └── Lost        no usable answer came

They tell what is known and nothing else: addresses and answers may hold secrets (case 35).
"""

from __future__ import annotations

from habakkuk.channels.contract import NotSent, OutcomeUnknown
from habakkuk.core.errors import ChannelError, HabakkukError

_LONGEST_WORDS = 200


class Refused(HabakkukError):
    """The platform answered, and did not do it. `words` are its own, or `HTTP 404`."""

    def __init__(self, status: int, words: str = "", retry_after: float | None = None) -> None:
        """Keep what the platform says."""
        self.status = status
        self.words = words[:_LONGEST_WORDS] or f"HTTP {status}"
        self.retry_after = retry_after
        super().__init__(self.words)


class Lost(HabakkukError):
    """No usable answer came. `sent`: the request may have arrived."""

    def __init__(self, why: str, *, sent: bool) -> None:
        """Keep what is known of the request."""
        super().__init__(why)
        self.why = why
        self.sent = sent

    def of_send(self) -> ChannelError:
        """Return what it means for a message."""
        return OutcomeUnknown(self.why) if self.sent else self.of_call()

    def of_call(self) -> NotSent:
        """Return what it means for something that can be done twice."""
        return NotSent(self.why, retryable=True)
