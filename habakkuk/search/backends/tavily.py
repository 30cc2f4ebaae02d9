"""Tavily (https://docs.tavily.com/documentation/api-reference/endpoint/search)."""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.search.answers import Wired, hits, post, read
from habakkuk.search.contract import Access, Ask, BackendKind, Hit


class _Result(Wired):
    title: str | None = None
    url: str | None = None
    content: str | None = None


class _Answer(Wired):
    results: list[_Result]


class Tavily:
    """Ask Tavily."""

    def __init__(self, access: Access) -> None:
        """Take the key."""
        self._access = access

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what it finds."""
        asked = {"query": ask.query, "max_results": ask.count, "search_depth": "basic"}
        headers = {"authorization": f"Bearer {self._access.key}"}
        answer = read(post(self._access, ask, "/search", asked, headers), _Answer)
        return hits(((one.title, one.url, one.content) for one in answer.results), ask.count)


BACKEND = BackendKind("tavily", Tavily, "https://api.tavily.com", "TAVILY_API_KEY")
