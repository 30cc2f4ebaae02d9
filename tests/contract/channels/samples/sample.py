"""How the contract suite talks to a channel: a module here for each, with its SAMPLE."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from habakkuk.channels.messages import RawRequest


@dataclass(frozen=True)
class Sample:
    """One channel: its settings, a genuine request, and its platform.

    `request` signs a body given as bytes; `message` is such a body, for (chat, sender, text).
    `names` is what the platform calls a message of it, its chat and its sender. `shows` is what
    people see of Markdown. Without `signs` the secret proves the sender and not the body; without
    `keyed` the platform is told no key.
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


def sample_of(name: str) -> Sample:
    """Return how the suite talks to a channel."""
    made = importlib.import_module(f"tests.contract.channels.samples.{name}").SAMPLE
    assert isinstance(made, Sample)
    return made
