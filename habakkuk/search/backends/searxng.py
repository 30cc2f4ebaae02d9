"""SearXNG, a server of one's own (https://docs.searxng.org/dev/search_api.html).

Its settings.yml must allow the form: `search: {formats: [html, json]}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from habakkuk.search.answers import Wired, get, hits, read
from habakkuk.search.contract import Access, Ask, BackendKind, Hit, SearchFailed


class _Result(Wired):
    title: str | None = None
    url: str | None = None
    content: str | None = None


class _Answer(Wired):
    results: list[_Result]
    unresponsive_engines: tuple[object, ...] = ()


class Searxng:
    """Ask a SearXNG."""

    def __init__(self, access: Access) -> None:
        """Take its address."""
        self._access = access

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what it finds."""
        asked = {"q": ask.query, "format": "json"}
        found = get(self._access, ask, f"/search?{urlencode(asked)}", {})
        answer = read(found, _Answer)
        if not answer.results and answer.unresponsive_engines:
            # It found nothing because nobody answered it.
            raise SearchFailed("none of its engines answers")
        return hits(((one.title, one.url, one.content) for one in answer.results), ask.count)


BACKEND = BackendKind("searxng", Searxng, needs_url=True)
