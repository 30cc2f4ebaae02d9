"""What a back-end is: how it is asked, what it gives, and how it says that it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp

MOST_RESULTS = 20
LONGEST_QUERY = 400  # characters; more is refused by some of the services
_REST_SECONDS = 60.0


class SearchFailed(Exception):
    """A back-end gave no answer; the message says why, after its name and a colon.

    `rest` is for how many seconds it is asked last of all.
    """

    def __init__(self, why: str, rest: float = _REST_SECONDS) -> None:
        """Keep why."""
        super().__init__(why)
        self.rest = rest


class SearchLate(SearchFailed):
    """It did not answer in time."""


@dataclass(frozen=True)
class Hit:
    """One result, each on one line. All of it comes from outside."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True)
class Ask:
    """One question to one back-end, which may take `seconds` in all."""

    query: str
    count: int
    seconds: float
    http: OutsideHttp
    interrupt: Interrupt


@dataclass(frozen=True)
class Access:
    """How a back-end is reached. `url` without a slash at its end; `own`: the operator named it."""

    url: str
    own: bool
    key: str = field(default="", repr=False)


class Backend(Protocol):
    """A service that searches. Thread-safe."""

    def search(self, ask: Ask) -> Sequence[Hit]:
        """Return what it finds, perhaps nothing. Raises SearchFailed and Interrupted."""
        ...


@dataclass(frozen=True)
class BackendKind:
    """One kind of back-end; each module of `backends` has one, called BACKEND.

    `url` is where it is unless the operator says another place, and must where `needs_url`;
    `key_variable` is where its key is unless said otherwise, empty where it needs none; `seconds`
    is how long it may take unless said otherwise.
    """

    name: str
    make: Callable[[Access], Backend]
    url: str = ""
    key_variable: str = ""
    needs_url: bool = False
    seconds: float = 10.0
