"""Answers of search services: results or a reason, whatever comes."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from habakkuk.core.http import Fetched, Limits, Request
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.search.contract import Access, Ask, SearchFailed
from habakkuk.search.registry import kinds

_WITH_INTERFACE = ("brave", "exa", "searxng", "tavily")
_TEXT = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["https://a.example/", "http://[", "javascript:x", "<b>x</b>", "&#0;", "&amp;"]
    ),
)
_NAMES = st.sampled_from(
    ["results", "web", "title", "url", "content", "description", "highlights", "text"]
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), _TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_NAMES, inner, max_size=5)
    ),
    max_leaves=30,
)
_RESULTS = st.fixed_dictionaries(
    {"results": st.lists(st.dictionaries(_NAMES, _VALUES, max_size=5))}
)
STRATEGY = st.one_of(
    _VALUES.map(json.dumps),
    _RESULTS.map(json.dumps),
    _RESULTS.map(lambda found: json.dumps({"web": found})),
).map(str.encode) | st.binary(max_size=60)


class _Answering(OutsideHttp):
    """A client that is answered with one body."""

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self._body = body

    def call(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool = False
    ) -> Fetched:
        return Fetched(request.url, 200, "application/json", self._body, cut=False)


def check(data: bytes) -> None:
    """Give it to each: what comes of it fits on lines, and is an address of the web."""
    for name in _WITH_INTERFACE:
        backend = kinds()[name].make(Access("https://s.example", own=False, key="k"))
        try:
            found = backend.search(Ask("q", 3, 1.0, _Answering(data), Interrupt()))
        except SearchFailed:
            continue
        assert len(found) <= 3
        for hit in found:
            assert hit.url.startswith(("http://", "https://"))
            assert hit.title
            assert len(f"{hit.title}{hit.url}{hit.snippet}".splitlines()) == 1
