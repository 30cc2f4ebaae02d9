"""Exa (https://exa.ai/docs/reference/search)."""

from __future__ import annotations

from collections.abc import Sequence

from habakkuk.search.answers import Wired, hits, post, read
from habakkuk.search.contract import Access, Ask, BackendKind, Hit


class _Result(Wired):
    title: str | None = None
    url: str | None = None
    highlights: list[str] | None = None
    text: str | None = None

    @property
    def snippet(self) -> str:
        """What it says of the page: the sentences that fit best, else how it begins."""
        return " … ".join(self.highlights or ()) or self.text or ""


class _Answer(Wired):
    results: list[_Result]


class Exa:
    """Ask Exa, with the sentences of each page that fit best."""

    def __init__(self, access: Access) -> None:
        """Take the key."""
        self._access = access

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what it finds."""
        contents = {"highlights": True}
        asked = {
            "query": ask.query,
            "numResults": ask.count,
            "type": "auto",
            "contents": contents,
        }
        found = post(self._access, ask, "/search", asked, {"x-api-key": self._access.key})
        answer = read(found, _Answer)
        return hits(((one.title, one.url, one.snippet) for one in answer.results), ask.count)


BACKEND = BackendKind("exa", Exa, "https://api.exa.ai", "EXA_API_KEY")
