"""Brave Search (https://api-dashboard.search.brave.com/documentation)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from habakkuk.search.answers import Wired, get, hits, read
from habakkuk.search.contract import Access, Ask, BackendKind, Hit


class _Result(Wired):
    title: str | None = None
    url: str | None = None
    description: str | None = None


class _Web(Wired):
    results: tuple[_Result, ...] = ()


class _Answer(Wired):
    web: _Web | None = None


class Brave:
    """Ask Brave's index."""

    def __init__(self, access: Access) -> None:
        """Take the key."""
        self._access = access

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what it finds."""
        asked = {"q": ask.query, "count": ask.count, "text_decorations": "false"}
        headers = {"x-subscription-token": self._access.key}
        found = get(self._access, ask, f"/res/v1/web/search?{urlencode(asked)}", headers)
        web = read(found, _Answer).web or _Web()
        return hits(((one.title, one.url, one.description) for one in web.results), ask.count)


BACKEND = BackendKind("brave", Brave, "https://api.search.brave.com", "BRAVE_API_KEY")
