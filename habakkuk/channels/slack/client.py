"""Slack's Web API, called through its SDK over the house's own HTTP.

The SDK's own transport follows redirects with the token in the headers, uses proxies of the
environment, and does not say whether a request went out. So it makes the requests and reads the
answers, and every failure becomes one of the two below, which tell what is known and nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO
from urllib.parse import urlsplit
from urllib.request import Request as SdkRequest

from pydantic import BaseModel, ConfigDict, ValidationError
from slack_sdk import WebClient

from habakkuk.channels import downloads, outcomes
from habakkuk.channels.contract import Bounds, NotFetched
from habakkuk.channels.outcomes import Lost
from habakkuk.core.http import Fetched, Head, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.retry_after import seconds_of

# Shorter than what a stopping process may take: a send that has begun is finished.
_CALL = Limits(seconds=6.0, max_bytes=8_000_000)
# Files are sent and fetched in jobs of their own, and take their time.
_FILE_SECONDS = 120.0
_OK = 200
# Where Slack keeps files: https://docs.slack.dev/changelog/2024-07-24-updated-file-domains names
# files.slack.com, workspaces have their own host, and governments another domain.
_SLACK_DOMAINS = (".slack.com", ".slack-gov.com")
_LINE_OF = {"https": "wss", "http": "ws"}
_DEFAULT_API = "https://slack.com/api/"


class Refused(outcomes.Refused):
    """Slack answered, and did not do it. `code` is its own word for why, or `HTTP 404`."""

    def __init__(
        self, status: int, code: str, retry_after: float | None = None, needed: str = ""
    ) -> None:
        """Keep what Slack says; `needed` is the scope that the token lacks."""
        super().__init__(status, code, retry_after)
        self.code = self.words
        self.needed = needed


class _Answer(BaseModel):
    model_config = ConfigDict(strict=True)
    ok: bool
    error: str = "unknown"
    needed: str = ""


def quiet_logger() -> logging.Logger:
    """Return a logger that says nothing: the SDK logs requests, and answers that it cannot read."""
    made = logging.getLogger("channels.slack.sdk")
    made.setLevel(logging.CRITICAL + 1)
    return made


class Client(WebClient):
    """The SDK's methods for one bot token. Raises Refused and Lost. Thread-safe."""

    def __init__(self, token: str, api_url: str, http: OutsideHttp) -> None:
        """Connect to nothing yet."""
        # Repeats are the delivery's own, which knows what a repeat may do.
        super().__init__(token=token, base_url=api_url, logger=quiet_logger(), retry_handlers=[])
        self.proxy = None
        self._http = http
        self._limits = _CALL
        # Nobody trips it: a stop of this process does not cut what is being sent.
        self._interrupt = Interrupt()
        self._own = api_url != _DEFAULT_API
        self._api = urlsplit(self.base_url)

    def _perform_urllib_http_request_internal(self, url: str, req: SdkRequest) -> dict[str, Any]:
        """Send what the SDK made; return the answer as it reads it. Raises Refused and Lost."""
        body = req.data if isinstance(req.data, bytes) else b""
        answer = self._call(Request("POST", url, body, dict(req.header_items())), self._limits)
        _check(answer)
        text = answer.body.decode("utf-8", "replace")
        return {"status": answer.status, "headers": dict(answer.headers), "body": text}

    def within(self, bounds: Bounds) -> Client:
        """Return one whose calls end when fetching a file has to."""
        made = Client(self.token or "", self.base_url, self._http)
        made._interrupt, made._limits = (
            bounds.interrupt,
            replace(_CALL, seconds=min(_CALL.seconds, bounds.left())),
        )
        return made

    def pieces(self, url: str, bounds: Bounds, expect: Callable[[Head], None]) -> Iterator[bytes]:
        """GET a file with the token, piece by piece. Raises NotFetched."""
        if not self.is_slacks(url):
            raise NotFetched("the file does not lie at Slack")
        request = Request("GET", url, b"", {"authorization": f"Bearer {self.token}"})
        bounds = replace(bounds, seconds=_FILE_SECONDS)
        return downloads.pieces(self._http, request, bounds, expect, trusted=self._is_trusted(url))

    def upload(self, url: str, body: BinaryIO) -> None:
        """POST a file to where Slack wants it; no token goes along. Raises Refused and Lost."""
        if not self.is_slacks(url):
            raise Refused(0, "the upload does not go to Slack")
        headers = {"content-type": "application/octet-stream"}
        answer = self._call(Request("POST", url, body, headers), Limits(_FILE_SECONDS, 64_000))
        if answer.status != _OK:
            raise Refused(answer.status, f"HTTP {answer.status}", seconds_of(answer.headers))

    def is_slacks(self, url: str) -> bool:
        """Say whether an address is Slack's, or that of the server in `api_url`."""
        try:
            found = urlsplit(url)
            port = found.port
        except ValueError:
            return False
        if (found.scheme, found.hostname, port) == self._origin:
            return True
        host = f".{found.hostname or ''}"
        return found.scheme == "https" and port is None and host.endswith(_SLACK_DOMAINS)

    def is_slacks_line(self, url: str) -> bool:
        """Say the same of a websocket's address; a server of one's own may have another port."""
        try:
            found = urlsplit(url)
            port = found.port
        except ValueError:
            return False
        if self._own and found.hostname == self._api.hostname:
            return found.scheme == _LINE_OF.get(self._api.scheme)
        host = f".{found.hostname or ''}"
        return found.scheme == "wss" and port is None and host.endswith(_SLACK_DOMAINS)

    @property
    def _origin(self) -> tuple[str, str | None, int | None]:
        return self._api.scheme, self._api.hostname, self._api.port

    def _is_trusted(self, url: str) -> bool:
        """Whether the operator named this server; it may be on a network of their own."""
        place = urlsplit(url)
        return self._own and (place.scheme, place.hostname, place.port) == self._origin

    def _call(self, request: Request, limits: Limits) -> Fetched:
        trusted = self._is_trusted(request.url)
        try:
            return self._http.call(request, limits, self._interrupt, trusted=trusted)
        except HttpRefused as error:
            raise Refused(0, str(error)) from None
        except HttpFailed as error:
            raise Lost(str(error), sent=error.sent) from None


def _check(answer: Fetched) -> None:
    """Raise Refused and Lost for what is no result."""
    wait = seconds_of(answer.headers)
    read = _read(answer)
    if answer.status != _OK:
        code = read.error if read is not None and not read.ok else f"HTTP {answer.status}"
        raise Refused(answer.status, code, wait)
    if read is None:
        raise Lost("what answered is not Slack", sent=True)
    if not read.ok:
        raise Refused(answer.status, read.error, wait, read.needed)


def _read(answer: Fetched) -> _Answer | None:
    try:
        return None if answer.cut else _Answer.model_validate_json(answer.body)
    except ValidationError:
        return None


def part(data: object, *path: str) -> Mapping[str, Any]:
    """Return an object within an answer, empty where there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data if isinstance(data, Mapping) else {}
