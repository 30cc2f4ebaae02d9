"""Read server-sent events as services really send them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
# Comments, which keep lines alive, and fields that say nothing here.
_IGNORED = frozenset({"", "id", "retry"})
# A single event; the longest honest one is a whole answer in one piece.
_MAX_BYTES = 16 * 1024 * 1024


class TooLong(ValueError):
    """One event, or a body without events, above 16 MB."""


@dataclass(frozen=True)
class Event:
    """One event. `stray`: its text stood in the body without `data:`, as an error page does."""

    data: str
    name: str = ""
    stray: bool = False


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Yield the events of a byte stream, and last whatever stood there that is no event.

    An unfinished last event is yielded too: some servers end without the blank line.
    Raises TooLong.
    """
    reader = _Reader()
    for raw in _lines(chunks):
        if event := reader.line(raw):
            yield event
    yield from reader.end()


class _Reader:
    """What stands between two events."""

    def __init__(self) -> None:
        self._name = ""
        self._data: list[str] = []
        self._stray: list[str] = []
        self._size = 0

    def line(self, raw: bytes) -> Event | None:
        """Take a line; returns the event that a blank one completes."""
        line = raw.decode("utf-8", "replace").removeprefix("\ufeff")
        if not line:
            return self._complete()
        self._size += len(raw)
        if self._size > _MAX_BYTES:
            raise TooLong("more than 16 MB in one event")
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value
        elif field not in _IGNORED:
            self._stray.append(line)
        return None

    def _complete(self) -> Event | None:
        event = Event("\n".join(self._data), self._name) if self._data else None
        self._name, self._data = "", []
        self._size = sum(map(len, self._stray))
        return event

    def end(self) -> Iterator[Event]:
        """Yield what is left."""
        if event := self._complete():
            yield event
        if self._stray:
            yield Event("\n".join(self._stray), stray=True)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends; CRLF, LF and CR all end one, also across two chunks."""
    rest = b""
    for chunk in chunks:
        *whole, rest = _LINE_END.split(rest + chunk)
        yield from whole
        if len(rest) > _MAX_BYTES:
            raise TooLong("more than 16 MB without the end of a line")
    yield from _LINE_END.split(rest.removesuffix(b"\r")) if rest else ()
