"""One bot's REST calls, each tried once: whether to repeat one is its caller's decision.

discord.py has a client too, which waits and repeats by itself and does not say of a lost request
whether it left. It stays where the gateway is, so that workers need not load it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

import orjson
from pydantic import BaseModel, ValidationError

from habakkuk.channels import outcomes
from habakkuk.channels.outcomes import Lost
from habakkuk.core.http import HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.retry_after import seconds_of

# Shorter than what a stopping process may take: a send that has begun is finished.
_LIMITS = Limits(seconds=6.0, max_bytes=8_000_000)
_FILE_SECONDS = 60.0
_LONGEST_WAIT = 3600.0
# Discord wants to know who calls (its reference, "User Agent").
_AGENT = "DiscordBot (https://github.com/habakkuk-agent/habakkuk, 1)"


class Refused(outcomes.Refused):
    """Discord answered, and did not do it. `code` is its own number for why, 0 without."""

    def __init__(
        self, status: int, description: str = "", code: int = 0, retry_after: float | None = None
    ) -> None:
        """Keep what Discord says."""
        super().__init__(status, description, retry_after)
        self.code = code


@dataclass(frozen=True)
class Answer:
    """What Discord said, and when by its clock, in seconds since 1970; 0 without."""

    body: bytes
    time: float


@dataclass(frozen=True)
class Body:
    """What a request carries."""

    content: bytes
    kind: str = "application/json"
    seconds: float = _LIMITS.seconds

    @classmethod
    def of(cls, value: Mapping[str, Any] | Sequence[Any]) -> Body:
        """Return a JSON body."""
        return cls(orjson.dumps(value))


class _Refusal(BaseModel):
    message: str = ""
    code: int = 0
    retry_after: float | None = None


class Client:
    """Calls Discord for one token. Thread-safe."""

    def __init__(self, token: str, api_url: str, http: OutsideHttp) -> None:
        """Connect to nothing yet."""
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._http = http

    def call(
        self,
        method: str,
        path: str,
        body: Body | None = None,
        interrupt: Interrupt | None = None,
    ) -> Answer:
        """Call one method, once. Raises Refused, Lost and Interrupted.

        Without an interrupt the call ends as it ends: a send that is cut off has no outcome.
        """
        headers = {"authorization": f"Bot {self._token}", "user-agent": _AGENT}
        if body is not None:
            headers["content-type"] = body.kind
        request = Request(method, self._api_url + path, body.content if body else b"", headers)
        limits = Limits(body.seconds if body else _LIMITS.seconds, _LIMITS.max_bytes)
        try:
            found = self._http.call(request, limits, interrupt or Interrupt(), trusted=True)
        except HttpRefused as error:
            raise Refused(0, str(error)) from None
        except HttpFailed as error:
            raise Lost(f"Discord: {error}", sent=error.sent) from None
        if found.status not in range(200, 300):
            raise _refused(found.status, found.body, found.headers)
        return Answer(found.body, _time(found.headers))


def _refused(status: int, body: bytes, headers: Mapping[str, str]) -> Refused:
    try:
        read = _Refusal.model_validate_json(body)
    except ValidationError:
        read = _Refusal()
    # The body has fractions of a second; what stands before Discord has only the header.
    wait = seconds_of(headers) if read.retry_after is None else read.retry_after
    wait = None if wait is None else min(max(wait, 0.0), _LONGEST_WAIT)
    return Refused(status, read.message, read.code, wait)


def _time(headers: Mapping[str, str]) -> float:
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        return 0.0
