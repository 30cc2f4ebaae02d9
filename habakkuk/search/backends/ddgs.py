"""Pages of public search engines, without a key and at best effort, read by the library ddgs.

The library brings a client of its own, which passes for a browser and knows none of our guards. So
it runs in a child that can reach nothing, and each of its requests is made here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from habakkuk.core.http import Fetched, HttpFailed, HttpRefused, Limits, Request
from habakkuk.core.programs import Running, running
from habakkuk.core.readers import reader
from habakkuk.search.answers import MOST_BYTES, hits
from habakkuk.search.contract import Access, Ask, BackendKind, Hit, SearchFailed, SearchLate

_PROGRAM = str(Path(__file__).parents[1] / "scraping.py")
# In the order in which they are asked, until one finds something; what they are called where.
_ENGINES = {
    "duckduckgo": "duckduckgo.com",
    "mojeek": "mojeek.com",
    "startpage": "startpage.com",
    "brave": "brave.com",
    "yahoo": "yahoo.com",
}
# Seed, Web Search Fallback: one engine that hangs must not take the time of the others.
_ENGINE_SECONDS = 10.0
_SECONDS = 25.0
_MOST_REQUESTS = 12
_MOST_LINE = 1_000_000
_AGENT = "Mozilla/5.0 (compatible; Habakkuk/1; personal agent)"


class Ddgs:
    """Ask public search engines, one after the other."""

    def __init__(self, _access: Access) -> None:
        """Take nothing: it needs no access."""

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what the first of them finds that finds anything."""
        program = reader(_PROGRAM, {"engines": list(_ENGINES), "query": ask.query})
        deadline = time.monotonic() + ask.seconds
        with running(program, ask.seconds, ask.interrupt) as child:
            told = _served(child, ask, deadline)
        ask.interrupt.check()
        if told is None:
            raise _late(ask) if time.monotonic() >= deadline else _broke_off()
        return _hits(told, ask, deadline)


def _late(ask: Ask) -> SearchLate:
    return SearchLate(f"no answer within {ask.seconds:g} s")


def _broke_off() -> SearchFailed:
    return SearchFailed("what reads the engines' pages broke off")


def _served(child: Running, ask: Ask, deadline: float) -> dict[str, Any] | None:
    """Make the child's requests until it says what it found; None when it ends without that."""
    for _ in range(_MOST_REQUESTS):
        try:
            said = json.loads(child.line(_MOST_LINE))
            if "hits" in said:
                return dict(said)
            answer = _answered(said, ask, deadline)
            child.say(json.dumps(answer).encode() + b"\n")
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OSError):
            # It was killed, or somebody else speaks in it.
            return None
    return None


def _answered(said: Mapping[str, Any], ask: Ask, deadline: float) -> dict[str, Any]:
    seconds = min(_ENGINE_SECONDS, deadline - time.monotonic())
    if seconds <= 0:
        return {"failed": "there is no time left"}
    try:
        found = _made(said, ask, Limits(seconds, MOST_BYTES))
    except (HttpRefused, HttpFailed) as error:
        return {"failed": str(error)}
    return {"status": found.status, "text": found.body.decode("utf-8", "replace")}


def _made(said: Mapping[str, Any], ask: Ask, limits: Limits) -> Fetched:
    """Make one request. To the engines only: nobody who took the child over goes elsewhere."""
    url = str(said["url"])
    host = urlsplit(url).hostname or ""
    if not any(host == one or host.endswith(f".{one}") for one in _ENGINES.values()):
        raise HttpRefused(f"{host[:100]} is none of the engines")
    headers = {"user-agent": _AGENT, "accept-language": "en"} | {
        str(key).lower(): str(value) for key, value in said["headers"].items()
    }
    if said["params"]:
        url += f"{'&' if '?' in url else '?'}{urlencode(said['params'])}"
    if said["method"] == "GET":
        return ask.http.get(url, limits, ask.interrupt, headers)
    headers["content-type"] = "application/x-www-form-urlencoded"
    body = urlencode(said["data"]).encode()
    return ask.http.call(Request("POST", url, body, headers), limits, ask.interrupt)


def _hits(told: Mapping[str, Any], ask: Ask, deadline: float) -> Sequence[Hit]:
    try:
        found = hits(((str(a), str(b), str(c)) for a, b, c in told["hits"]), ask.count)
        failed = {str(key): str(value)[:200] for key, value in told["failed"].items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise _broke_off() from error
    if not found and len(failed) == len(_ENGINES):
        if time.monotonic() >= deadline:
            # The first one's time was everybody's, and the child said so before it was killed.
            raise _late(ask)
        raise SearchFailed("; ".join(f"{name}: {why}" for name, why in failed.items()))
    return found


BACKEND = BackendKind("ddgs", Ddgs, seconds=_SECONDS)
