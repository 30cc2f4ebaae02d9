"""What an office document says its title is."""

from __future__ import annotations

from habakkuk.documents.markup import Attributes, Handler
from habakkuk.documents.package import Package, first_of

_LONGEST = 300


def title_of(package: Package) -> str:
    """Return the title on one line, empty where there is none."""
    core = _Core()
    package.parse_if_there(first_of(package.relations(""), "core-properties"), core)
    return " ".join("".join(core.title).split())[:_LONGEST]


class _Core(Handler):
    def __init__(self) -> None:
        self.title: list[str] = []
        self._in_title = False

    def begin(self, name: str, _attributes: Attributes, /) -> None:
        self._in_title = name == "title"

    def characters(self, text: str) -> None:
        if self._in_title:
            self.title.append(text)

    def end(self, _name: str, /) -> None:
        self._in_title = False
