"""Tool calls put together from the pieces in which services send them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from habakkuk.core.errors import Invalid
from habakkuk.core.ids import random_id
from habakkuk.core.text import clean, clean_json
from habakkuk.llm.types import ToolCall

# The journal keeps ids as keys; the longest seen from a service has 64 characters.
_LONGEST_ID = 256


@dataclass(frozen=True)
class CallPiece:
    """A piece of one call; `index` tells which, where it is there.

    `arguments` is a piece of their JSON as text, or the whole object, as some servers send it.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None


@dataclass
class OpenCall:
    """A call of which pieces have come."""

    index: int | None
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)


class CallBuilder:
    """The calls of one answer, in the order in which they began."""

    def __init__(self, taken: Iterable[str]) -> None:
        """`taken`: the ids that the session has; each new call gets one of its own."""
        self._taken = set(taken)
        self._calls: list[OpenCall] = []

    def __len__(self) -> int:
        """Return how many calls have begun."""
        return len(self._calls)

    def add(self, piece: CallPiece) -> str | None:
        """Take a piece; returns the name when it begins a call, else None."""
        call = self._find(piece)
        begins = call is None
        if call is None:
            call = OpenCall(piece.index)
            self._calls.append(call)
        call.id = call.id or piece.id or ""
        name = piece.name or ""
        # Some services repeat the name in every piece, a few send it in pieces.
        if name and name != call.name:
            call.name += name
        call.pieces.append(_text(piece.arguments))
        return call.name if begins else None

    def _find(self, piece: CallPiece) -> OpenCall | None:
        """Return the call that a piece belongs to: by index and id, by id, or the latest."""
        if piece.index is not None:
            same = [c for c in self._calls if c.index == piece.index]
            # Some services number every parallel call 0: there the id tells them apart.
            fitting = [c for c in same if not piece.id or not c.id or c.id == piece.id]
            return fitting[-1] if fitting else None
        if piece.id:
            known = [c for c in self._calls if c.id == piece.id]
            return known[-1] if known else None
        return self._calls[-1] if self._calls and not piece.name else None

    def build(self, fault: str | None) -> tuple[ToolCall, ...]:
        """Return the calls; `fault` says why none of them may run, None when they may."""
        return tuple(self._finish(call, fault) for call in self._calls)

    def _finish(self, call: OpenCall, fault: str | None) -> ToolCall:
        arguments, wrong = _arguments("".join(call.pieces))
        if not call.name:
            wrong = "the call names no tool"
        fault = fault or wrong
        name = clean(call.name) or "unnamed"
        return ToolCall(
            id=self._id(call.id), name=name, input={} if fault else arguments, fault=fault
        )

    def _id(self, wanted: str) -> str:
        cleaned = clean(wanted).strip()
        if not cleaned or cleaned in self._taken or len(cleaned) > _LONGEST_ID:
            cleaned = random_id("call")
        self._taken.add(cleaned)
        return cleaned


def _text(arguments: Any) -> str:
    """Return a piece of arguments as text; some servers send the object itself."""
    if arguments is None:
        return ""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments and what is wrong with them."""
    if not text.strip():
        return {}, None
    try:
        value = json.loads(text)
        if isinstance(value, str):
            # Encoded twice by some gateways.
            value = json.loads(value)
        if value is None:
            return {}, None
        if isinstance(value, dict):
            return clean_json(value), None
    except (ValueError, RecursionError) as error:
        return {}, f"the arguments are no valid JSON ({type(error).__name__}); send one JSON object"
    except Invalid as error:
        return {}, f"the arguments cannot be used: {error}"
    return {}, "the arguments are JSON but no object; send one JSON object"
