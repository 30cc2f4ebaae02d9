"""Rank tools by the words of a query (seed, Session tools: end)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from habakkuk.llm.types import ToolSpec

_WORD = re.compile(r"\w+")
# Words of names are written together: read_file, readFile, mcp_github_list-issues.
_NAME_WORD = re.compile(r"[A-Z]?[a-z\d]+|[A-Z\d]+|[^\W\da-zA-Z_]+")
# A word of the name, a part of the name, a word of the description.
_WHOLE, _PART, _TOLD = 100, 10, 1
# "anything under two thirds of the best score is left out"
_LEAST = (2, 3)


def rank(specs: Iterable[ToolSpec], query: str) -> Sequence[ToolSpec]:
    """Return the tools that fit best, the best first; names decide where scores do not."""
    words = {word.casefold() for word in _WORD.findall(query.replace("_", " "))}
    scored = [(_score(spec, words), spec) for spec in specs]
    best = max((score for score, _ in scored), default=0)
    if not best:
        return []
    numerator, denominator = _LEAST
    kept = [(score, spec) for score, spec in scored if score * denominator >= best * numerator]
    return [spec for score, spec in sorted(kept, key=lambda item: (-item[0], item[1].name))]


def _score(spec: ToolSpec, words: Iterable[str]) -> int:
    name = {word.casefold() for word in _NAME_WORD.findall(spec.name)}
    whole, told = spec.name.casefold(), spec.description.casefold()
    told_words = set(_WORD.findall(told))
    score = 0
    for word in words:
        if word in name:
            score += _WHOLE
        elif word in whole:
            score += _PART
        elif word in told_words:
            score += _TOLD
    return score
