"""Text that comes in pieces."""

from __future__ import annotations

import re

from habakkuk.core.text import clean

_HIGH = re.compile("[\ud800-\udbff]\\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")


class TextJoin:
    """Joins pieces of text, also where a piece ends inside a surrogate pair."""

    def __init__(self) -> None:
        """Start empty."""
        self._held = ""
        self._raw: list[str] = []
        self.pieces: list[str] = []

    def add(self, piece: str) -> str:
        """Return what can be shown: `piece` clean, without a half character at its end."""
        piece = _paired(self._held + piece)
        self._held = piece[-1:] if _HIGH.search(piece) else ""
        whole = piece[:-1] if self._held else piece
        shown = clean(whole)
        self._raw.append(whole)
        self.pieces.append(shown)
        return shown

    @property
    def text(self) -> str:
        """Everything so far; a half character that never became whole is replaced."""
        return "".join(self.pieces) + clean(self._held)

    @property
    def untouched(self) -> bool:
        """Whether `text` is what came, to the letter: a signature over it holds only then."""
        return self.text == "".join(self._raw) + self._held


def gap(before: str, after: str) -> str:
    """Return what must stand between two texts that came apart, so that they read as two."""
    joined = not before.strip() or before[-1:].isspace() or after[:1].isspace()
    return "" if joined else "\n\n"


def _paired(text: str) -> str:
    """Return `text` with surrogate pairs made one character."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
