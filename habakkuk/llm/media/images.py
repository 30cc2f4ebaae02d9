"""Have images read, and made as a model takes them: each by a process of its own."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds
from habakkuk.core.readers import BROKE_OFF, NoAnswer, NotStarted, Readers
from habakkuk.llm.media.sniff import JPEG, PNG, sniff
from habakkuk.llm.media.types import Fitted, Flaw, ImageLimits, Unfit, encoded_size

_PROGRAM = str(Path(__file__).with_name("program.py"))
_SECONDS = 45.0
# More than any service takes of an image.
_MOST_ANSWER = 30_000_000
# As many at once as a small machine has memory for: one takes up to 300 MB.
_AT_ONCE = 4
_MOST_KNOWN = 5_000
_Side = Annotated[int, Field(gt=0, le=1_000_000_000)]


class Unread(Unfit):
    """An image could not be looked at now; a later look may be luckier."""


class _Flawed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    flaw: Flaw


class _Made(BaseModel):
    model_config = ConfigDict(extra="forbid")

    same: bool
    size: tuple[_Side, _Side]
    shown: tuple[_Side, _Side]


_TOLD: TypeAdapter[_Flawed | _Made] = TypeAdapter(_Flawed | _Made)


class Images:
    """Reads images. Thread-safe; others wait while four are read."""

    def __init__(self, program: str = _PROGRAM, seconds: float = _SECONDS) -> None:
        """`program` is what reads, and `seconds` how long it may take; tests have others."""
        self._readers = Readers(program, Bounds(seconds, _MOST_ANSWER), _AT_ONCE)
        self._sound = _Sound()

    def fit(self, data: bytes, mime: str, limits: ImageLimits, interrupt: Interrupt) -> Fitted:
        """Return the image as it was when it fits, else a smaller, upright one.

        The same bytes and limits give the same result, so that a provider's cache holds. What fits
        has the very bytes that were given. Raises Unfit, and Interrupted, when the process is dead
        already.
        """
        known = self._sound.fitting(data, limits)
        if known is not None:
            return known
        order = {
            "mime": mime,
            "types": sorted(limits.types),
            "limits": {
                "encoded_bytes": limits.encoded_bytes,
                "side": limits.side,
                "scaled_side": limits.scaled_side,
            },
        }
        try:
            answer = self._readers.ask(order, data, interrupt)
        except NotStarted as error:
            raise Unread(str(error)) from error
        except NoAnswer as error:
            raise Unfit(str(error)) from error
        fitted = _fitted(answer, data, mime, limits)
        self._sound.add(fitted)
        return fitted


class _Sound:
    """Which images can be sent as they are: whole, upright, of one frame. Thread-safe.

    What a tool shows goes to a model next, and maybe to another one then: it is not read again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[bytes, tuple[str, tuple[int, int]]] = OrderedDict()

    def add(self, fitted: Fitted) -> None:
        """Note one that came out of a reader."""
        digest = _digest(fitted.data)
        with self._lock:
            self._known[digest] = (fitted.mime, fitted.shown)
            while len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)

    def fitting(self, data: bytes, limits: ImageLimits) -> Fitted | None:
        """Return an image as it is, when it is known to fit."""
        digest = _digest(data)
        with self._lock:
            found = self._known.get(digest)
        if found is None:
            return None
        mime, size = found
        fits = mime in limits.types and max(size) <= limits.side
        if not fits or encoded_size(data) > limits.encoded_bytes:
            return None
        return Fitted(mime, data, size, size)


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def _fitted(answer: bytes, data: bytes, mime: str, limits: ImageLimits) -> Fitted:
    """Believe no more than must be: whoever took the child over can answer anything."""
    line, _, made = answer.partition(b"\n")
    try:
        told = _TOLD.validate_json(line)
    except ValidationError as error:
        raise Unfit(BROKE_OFF) from error
    if isinstance(told, _Flawed):
        raise Unfit(told.flaw)
    if told.same:
        made = data
    else:
        mime = sniff(made) or ""
    if mime not in limits.types | {JPEG, PNG} or encoded_size(made) > limits.encoded_bytes:
        raise Unfit(BROKE_OFF)
    return Fitted(mime, made, told.size, told.shown)
