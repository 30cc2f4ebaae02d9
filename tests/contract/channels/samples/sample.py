"""How the contract suite talks to a channel: a module here for each, with its SAMPLE."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from habakkuk.channels.messages import RawRequest
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE, Plan, refuse

# What HTTP says of a platform that is busy, and of one that says no.
_BUSY = (408, 425, 429, 500, 503)
_CLOSED = (301, 302, 400, 401, 403, 404, 410, 413, 422)


@dataclass(frozen=True)
class Sample:
    """One channel: its settings, a genuine request, and its platform.

    `request` signs a body given as bytes; `message` is such a body, for (chat, sender, text).
    `names` is what the platform calls a message of it, its chat and its sender. `shows` is what
    people see of Markdown. Without `signs` the secret proves the sender and not the body; without
    `keyed` the platform is told no key. `webhook` False: its messages are always fetched, so that
    `request` makes what must be turned away.

    Plans of the platform for one message: by those in `busy` it may be asked again, after `wait`
    seconds where it names them, by those in `closed` not, and after those in `lost` nobody knows.
    """

    settings: Callable[[str], Mapping[str, Any]]
    secrets: Mapping[str, str]
    request: Callable[[str, bytes], RawRequest]
    message: Callable[[str, str, str], bytes]
    platform: Callable[[], Any]
    names: tuple[str, str, str] = ("m1", "room", "alice")
    shows: Callable[[str], str] = str
    signs: bool = True
    keyed: bool = True
    webhook: bool = True
    busy: Sequence[Any] = tuple(refuse(code, retry_after="7") for code in _BUSY)
    closed: Sequence[Any] = tuple(refuse(code, location="http://127.0.0.1:1/") for code in _CLOSED)
    lost: Sequence[Any] = (DROP_AFTER, DROP_BEFORE, Plan(answer=502), Plan(answer=504))
    wait: float | None = 7


def sample_of(name: str) -> Sample:
    """Return how the suite talks to a channel."""
    made = importlib.import_module(f"tests.contract.channels.samples.{name}").SAMPLE
    assert isinstance(made, Sample)
    return made
