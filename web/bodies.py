"""Read a request's JSON body strictly: bounded, in time, cleaned once.

NUL and lone surrogates become U+FFFD; NaN, repeated keys and deep nesting are refused, since
programs that read such JSON differently can be told different things by it.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from flask import Request
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge

from habakkuk.core.errors import Invalid
from habakkuk.core.text import clean_json
from web.apart import apart
from web.errors import Refused

_MAX_DEPTH = 64
# Bytes that take some milliseconds.
_LONG = 500_000
_READ_SECONDS = 30.0
# Each part of this size has a second more: a photo from a phone takes its time.
_SLOWEST = 100_000
_PIECE = 64 * 1024
_SLOW = "the body took too long to arrive; send it again"
# Possessive, and an unclosed string runs to the end: linear whatever comes.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_BRACKETS = re.compile(rb"[\[\]{}]")


class StrictRequest(Request):
    """A request whose JSON was checked before any view sees it."""

    strict_body: dict[str, Any] | None = None

    def get_json(self, force: bool = False, silent: bool = False, cache: bool = True) -> Any:  # noqa: FBT001, FBT002, ARG002 - the signature is Flask's
        """Return the checked body, None when there was none."""
        return self.strict_body


def take_body(request: StrictRequest, limit: int) -> None:
    """Read and check the body of a request that may have one, of at most `limit` bytes.

    Raises Refused and Invalid.
    """
    if request.method not in {"POST", "PUT", "PATCH", "DELETE"}:
        return
    length = request.content_length
    if length is not None and length > limit:
        raise Refused(413, _too_large(limit))
    chunked = "chunked" in request.headers.get("Transfer-Encoding", "").lower()
    if not length and not chunked and not request.headers.get("Content-Type"):
        return
    if request.mimetype != "application/json":
        raise Refused(415, "send JSON, with Content-Type: application/json")
    raw = _read(request, limit)
    if raw:
        request.strict_body = apart(parse, raw) if len(raw) > _LONG else parse(raw)


def read_bytes(request: StrictRequest, limit: int) -> bytes:
    """Return the body as it came, at most `limit` bytes. Raises Refused and Invalid."""
    length = request.content_length
    if length is not None and length > limit:
        raise Refused(413, _too_large(limit))
    return _read(request, limit)


def parse(raw: bytes) -> dict[str, Any]:
    """Return the JSON object in `raw`. Raises Invalid."""
    _check_depth(raw)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid("the body is not valid UTF-8") from error
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Invalid(f"the body is not valid JSON ({place}: {error.msg.lower()})") from error
    except (ValueError, RecursionError) as error:
        raise Invalid("the body is not valid JSON: it holds a number that is too long") from error
    if not isinstance(value, dict):
        raise Invalid("the body must be a JSON object")
    return cast("dict[str, Any]", clean_json(value))


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Invalid("the body is not valid JSON: a key stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise Invalid(f"the body is not valid JSON: {name} is no JSON number")


def _check_depth(raw: bytes) -> None:
    if raw.count(b"[") + raw.count(b"{") <= _MAX_DEPTH:
        # Looking for strings takes a quarter of a second where one holds a large file.
        return
    depth = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", raw)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > _MAX_DEPTH:
            raise Invalid(f"the body is nested deeper than {_MAX_DEPTH} levels")


def _read(request: Request, limit: int) -> bytes:
    """Read the body, refusing one that is too large or comes too slowly."""
    try:
        with _impatient(request):
            return _pieces(request, limit)
    except RequestEntityTooLarge as error:
        raise Refused(413, _too_large(limit)) from error
    except (ClientDisconnected, OSError) as error:
        # Werkzeug takes every fault of the socket for the client's leaving.
        if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
            raise Refused(408, _SLOW) from error
        raise Invalid("the body ended before it was complete") from error


def _pieces(request: Request, limit: int) -> bytes:
    ends = time.monotonic() + _READ_SECONDS
    pieces = bytearray()
    while piece := request.stream.read(_PIECE):
        pieces += piece
        if len(pieces) > limit:
            raise Refused(413, _too_large(limit))
        if time.monotonic() > ends + len(pieces) / _SLOWEST:
            raise Refused(408, _SLOW)
    return bytes(pieces)


@contextmanager
def _impatient(request: Request) -> Iterator[None]:
    """Let no single read of this request's connection wait for ever."""
    sock = request.environ.get("gunicorn.socket") or request.environ.get("werkzeug.socket")
    if sock is None:
        yield
        return
    before = sock.gettimeout()
    sock.settimeout(_READ_SECONDS)
    try:
        yield
    finally:
        sock.settimeout(before)


def _too_large(limit: int) -> str:
    return f"the request is too large; at most {limit:,} bytes are accepted"
