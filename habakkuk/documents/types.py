"""What readers of documents share: parts in an order, each with text that comes piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


class Unreadable(Exception):
    """A document gives no text; the message says why, after its name and a colon."""


@dataclass(frozen=True)
class Part:
    """A page, a sheet or a slide. `title` is what it calls itself; `text` reads it."""

    title: str
    text: Callable[[], Iterator[str]]


class Document(Protocol):
    """An open document. `unit` is what its parts are called, empty where it has but one.

    `rest` is what belongs to no part, such as notes of the whole.
    """

    kind: str
    unit: str
    title: str

    @property
    def parts(self) -> Sequence[Part]:
        """The parts in their order."""
        ...


@dataclass(frozen=True)
class Reading:
    """What was read. `total` counts the parts; `chosen` are the numbers of those that were asked.

    `offset` is where `text` begins in the text of the chosen parts, in characters; `more`: it goes
    on after `text`. `last` is the last part that `text` reaches, 0 before the first.
    """

    kind: str
    unit: str
    title: str
    total: int
    chosen: Sequence[int]
    offset: int
    text: str
    more: bool
    last: int
