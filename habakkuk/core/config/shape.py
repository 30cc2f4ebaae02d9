"""Look at YAML before anything is made of it: a few lines can stand for gigabytes."""

from __future__ import annotations

from io import StringIO

from ruamel.yaml import YAML
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    NodeEvent,
)

from habakkuk.core.errors import ConfigurationError

_DEEPEST = 20
# Of all values together, each as often as something refers to it.
_MOST = 20_000


def check_shape(text: str, name: str) -> None:
    """Raise ConfigurationError for YAML too deep or large when written out, or with types.

    Raises what ruamel.yaml raises for what is no YAML at all; `name` is what errors call the file.
    """
    shape = _Shape(name)
    # It gives no types for what it yields.
    for event in YAML().parse(StringIO(text)):
        shape.take(event)


class _Shape:
    """What was seen so far."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Of every open collection: its anchor, and the number of values before it.
        self._open: list[tuple[str | None, int]] = []
        self._sizes: dict[str, int] = {}
        self._count = 0

    def take(self, event: Event) -> None:
        if isinstance(event, AliasEvent):
            self._count += self._size(event)
        elif isinstance(event, CollectionEndEvent):
            self._close()
        elif isinstance(event, NodeEvent):
            self._begin(event)
        if self._count > _MOST:
            self._refuse(event, f"it stands for more than {_MOST} values")

    def _begin(self, event: NodeEvent) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            self._refuse(event, f"the type {str(tag)[:60]!r} is not known here")
        before = self._count
        self._count += 1
        if isinstance(event, CollectionStartEvent):
            self._open.append((event.anchor, before))
            if len(self._open) > _DEEPEST:
                self._refuse(event, f"it has more than {_DEEPEST} levels")
        elif event.anchor is not None:
            self._sizes[event.anchor] = 1

    def _close(self) -> None:
        anchor, before = self._open.pop()
        if anchor is not None:
            self._sizes[anchor] = self._count - before

    def _size(self, event: AliasEvent) -> int:
        if any(anchor == event.anchor for anchor, _ in self._open):
            self._refuse(event, f"*{event.anchor} stands inside of what it refers to")
        # One that refers to nothing is told by whoever builds the tree.
        return self._sizes.get(event.anchor, 1)

    def _refuse(self, event: Event, why: str) -> None:
        mark = event.start_mark
        line = mark.line + 1 if mark is not None else 1
        raise ConfigurationError(f"{self._name}:{line}: {why}")
