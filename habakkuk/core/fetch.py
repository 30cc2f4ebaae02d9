"""Requests by httpx2, which takes more memory than whoever calls nobody should give it."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property, partial

import httpx2

from habakkuk.core.addresses import Connect, Resolve
from habakkuk.core.http import Fetched, Head, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.lines import Call, Calls, LineBackend, LineTransport
from habakkuk.core.trust import trusted

_MAX_HOPS = 5
_PIECE = 65_536
_MAX_URL = 8192
_PORTS = range(1, 65536)
_REDIRECTS = {301, 302, 303, 307, 308}
_ENCODINGS = {"", "identity", "gzip", "deflate"}
# Headers that may follow a redirect to another origin; everything else could be a credential.
_SAFE_HEADERS = {"accept", "accept-language", "user-agent"}
# What a browser and a library read differently, or what has no place in a URL at all.
_FORBIDDEN = re.compile(
    r"[\x00-\x20\x7f-\x9f\\\u2028\u2029\ufeff\ufffd\ud800-\udfff]|%00|%0[ad]", re.IGNORECASE
)
_AUTHORITY_END = re.compile("[/?#]")
_AGENT = "Habakkuk/1 (personal agent)"
# Raised before the first byte of a request has left.
_BEFORE_SENDING = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.InvalidURL)


class Fetcher:
    """What OutsideHttp does its work with."""

    def __init__(
        self,
        resolve: Resolve,
        checked: Resolve,
        connect: Connect,
        trust: Callable[[], ssl.SSLContext] | None,
    ) -> None:
        """Resolve names by `checked`, and by `resolve` those that the operator gave."""
        self._resolve = resolve
        self._checked = checked
        self._connect = connect
        self._read_trust = trust or partial(trusted, "http")

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return self._read_trust()

    def get(
        self,
        url: str,
        limits: Limits,
        interrupt: Interrupt,
        headers: Mapping[str, str],
    ) -> Fetched:
        """Do as OutsideHttp.get does."""
        target = checked_url(url)
        with self._client(limits, interrupt, self._checked) as client:
            return self._follow(client, target, dict(headers), limits)

    def call(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool
    ) -> Fetched:
        """Do as OutsideHttp.call does."""
        with self._answered(request, limits, interrupt, trusted=trusted) as response:
            return _read(response, limits)

    @contextmanager
    def stream(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool
    ) -> Iterator[tuple[Head, Iterator[bytes]]]:
        """Do as OutsideHttp.stream does."""
        with self._answered(request, limits, interrupt, trusted=trusted) as response:
            _check_encoding(response)
            kind = response.headers.get("content-type", "")
            yield (
                Head(response.status_code, kind, dict(response.headers)),
                response.iter_bytes(_PIECE),
            )

    @contextmanager
    def _answered(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool
    ) -> Iterator[httpx2.Response]:
        """Give the answer to one request, whose body is not read yet."""
        target = checked_url(request.url)
        resolve = self._resolve if trusted else self._checked
        with self._client(limits, interrupt, resolve) as client:
            response = client.send(
                client.build_request(
                    request.method, target, headers=_headers(request.headers), content=request.body
                ),
                stream=True,
                follow_redirects=False,
            )
            try:
                yield response
            finally:
                response.close()

    @contextmanager
    def _client(
        self, limits: Limits, interrupt: Interrupt, resolve: Resolve
    ) -> Iterator[httpx2.Client]:
        """Give a client for one fetch, whose failures become ours."""
        calls = Calls()
        call = Call(limits.seconds)
        transport = LineTransport(LineBackend(calls, resolve, self._connect), self._trust)
        timeout = httpx2.Timeout(limits.seconds)
        with (
            interrupt.freeing(call.cut),
            calls.working(call),
            httpx2.Client(transport=transport, timeout=timeout, trust_env=False) as client,
        ):
            try:
                yield client
            except (httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL) as error:
                interrupt.check()
                sent = not isinstance(error, _BEFORE_SENDING)
                if call.late:
                    raise HttpFailed(
                        f"no whole answer came within {limits.seconds:g} s",
                        retryable=True,
                        sent=sent,
                        late=True,
                    ) from error
                late = isinstance(error, httpx2.TimeoutException)
                raise HttpFailed(_failure(error), retryable=True, sent=sent, late=late) from error

    def _follow(
        self, client: httpx2.Client, target: httpx2.URL, headers: dict[str, str], limits: Limits
    ) -> Fetched:
        for _ in range(_MAX_HOPS + 1):
            request = client.build_request("GET", target, headers=_headers(headers))
            response = client.send(request, stream=True, follow_redirects=False)
            try:
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or not location:
                    return _read(response, limits)
            finally:
                response.close()
            following = checked_url(str(target.join(location)))
            if target.scheme == "https" and following.scheme == "http":
                raise HttpRefused("it redirects from https to http")
            if _origin(following) != _origin(target):
                headers = {k: v for k, v in headers.items() if k.lower() in _SAFE_HEADERS}
                client.cookies.clear()
            target = following
        raise HttpFailed(f"it redirects more than {_MAX_HOPS} times")


def checked_url(text: str) -> httpx2.URL:
    """Return a URL that every reader understands alike. Raises HttpRefused with what is wrong."""
    if len(text) > _MAX_URL:
        raise HttpRefused(f"the address is longer than {_MAX_URL} characters")
    if _FORBIDDEN.search(text):
        raise HttpRefused("the address holds a character that does not belong in one")
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError) as error:
        raise HttpRefused(f"this is no web address: {error}") from error
    if url.scheme not in {"http", "https"}:
        raise HttpRefused("only http and https addresses are read")
    _check_place(url, text)
    return url


def _check_place(url: httpx2.URL, text: str) -> None:
    if not url.host:
        raise HttpRefused("the address names no host")
    if "%" in url.host:
        raise HttpRefused("the host of the address holds an escape or a zone")
    if url.port is not None and url.port not in _PORTS:
        raise HttpRefused("the address names a port that does not exist")
    if url.userinfo or "@" in _AUTHORITY_END.split(text.split("://", 1)[-1], 1)[0]:
        raise HttpRefused("an address with a user name in it is not read")


def _headers(given: Mapping[str, str]) -> dict[str, str]:
    own = {"user-agent": _AGENT, "accept-encoding": "gzip, deflate"}
    return own | {name.lower(): value for name, value in given.items()}


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _check_encoding(response: httpx2.Response) -> None:
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        raise HttpFailed(f"it answers in an encoding that was not asked for: {encoding[:40]}")


def _read(response: httpx2.Response, limits: Limits) -> Fetched:
    _check_encoding(response)
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > limits.max_bytes:
            break
    return Fetched(
        url=str(response.url),
        status=response.status_code,
        content_type=response.headers.get("content-type", ""),
        body=bytes(body[: limits.max_bytes]),
        cut=len(body) > limits.max_bytes,
        headers=dict(response.headers),
    )


def _failure(error: Exception) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "it did not answer in time"
    if isinstance(error, httpx2.ConnectError):
        return f"no connection: {error}"
    return f"the answer broke off: {type(error).__name__}"
