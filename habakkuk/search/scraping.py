"""The child that reads pages of search engines: `python -I scraping.py ORDER`.

It runs the library that knows the engines, with nothing else left to it (core/confined): each
request that the library wants is a line of JSON to the parent, which makes it through the guarded
client and answers with a line. The last line holds what was found.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_MEMORY = 1_000_000_000
_CPU_SECONDS = 20
_WALL_SECONDS = 120
_OK = 200


def main() -> None:
    """Read the order, give up what is not needed, ask engine after engine, answer."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from habakkuk.core.confined import (  # noqa: PLC0415 - after the path is known
        Allowance,
        die_with_parent,
        give_up,
    )

    die_with_parent()
    order = json.loads(sys.argv[1])
    engines = _engines(order["engines"])
    give_up(Allowance(_MEMORY, _CPU_SECONDS, _WALL_SECONDS))
    told: dict[str, Any] = {"hits": [], "engine": "", "failed": {}}
    for engine in engines:
        found, why = _asked(engine, order["query"])
        if why:
            told["failed"][engine.name] = why
        if found:
            told |= {"hits": found, "engine": engine.name}
            break
    _say(told)
    os._exit(0)


def _engines(names: list[str]) -> list[Any]:
    """Return the library's engines, whose requests go to the parent. Nothing is sent yet."""
    import ddgs.base  # noqa: PLC0415 - slow, and only this process needs it
    from ddgs.engines import ENGINES  # noqa: PLC0415 - as above

    # What engines make themselves a client of.
    vars(ddgs.base)["HttpClient"] = _Client
    return [ENGINES["text"][name]() for name in names if name in ENGINES["text"]]


def _asked(engine: Any, query: str) -> tuple[list[list[str]], str]:
    """Return the results of an engine, and why it gave none where it failed."""
    try:
        found = engine.search(query)
    except Exception as error:  # noqa: BLE001 - the top of foreign code
        return [], str(error)[:200] or type(error).__name__
    if found is None:
        return [], f"status {engine.http_client.status}"
    # Of a page that was built otherwise, or asks who one is, the library makes results of nothing.
    real = [one for one in found if one.href.startswith(("https://", "http://"))]
    return [[one.title, one.href, one.body] for one in real], ""


class _Client:
    """Stands in for the library's client."""

    def __init__(self, *_: object, **__: object) -> None:
        self.client = self
        self.status = 0
        self._headers: dict[str, str] = {}
        self._cookies: dict[str, str] = {}

    def headers_update(self, headers: Mapping[str, str]) -> None:
        self._headers |= headers

    def set_cookies(self, _url: str, cookies: Mapping[str, str]) -> None:
        self._cookies |= cookies

    def request(
        self,
        method: str,
        url: str,
        params: Mapping[str, Any] | None = None,
        data: Mapping[str, Any] | None = None,
        **_: object,
    ) -> _Response:
        """Have a request made."""
        headers = dict(self._headers)
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{key}={value}" for key, value in self._cookies.items())
        _say(
            {"method": method, "url": url, "headers": headers}
            | {"params": dict(params or {}), "data": dict(data or {})}
        )
        answer = json.loads(sys.stdin.buffer.readline() or b'{"failed": "nobody answers"}')
        if "failed" in answer:
            raise OSError(answer["failed"])
        self.status = answer["status"]
        return _Response(answer["status"], answer["text"])


class _Response:
    def __init__(self, status: int, text: str) -> None:
        self.status_code = status
        self.text = text

    @property
    def content(self) -> bytes:
        return self.text.encode()


def _say(told: Mapping[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(told).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
