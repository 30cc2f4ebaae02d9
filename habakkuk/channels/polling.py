"""What fetches from a platform, or listens to it, and what it hands over to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, TypeVar

from habakkuk.channels.messages import Event
from habakkuk.core.errors import ChannelError, Unavailable
from habakkuk.core.interrupt import Interrupt

_T = TypeVar("_T")


class Door(Protocol):
    """What a poller hands over to. Safe to use from the poller's thread only."""

    def cursor(self) -> Mapping[str, Any] | None:
        """Return where the account stood when its last event was stored; None at the start."""

    def turns_away(self, event: Event, cursor: Mapping[str, Any] | None) -> bool:
        """Whether nothing of a message is read, by who sent it; then its place is stored.

        For what is large: its text is not looked at, so it may be fetched only after this. Raises
        Unavailable.
        """

    def take(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        """Store an event, with the place from which to go on. Raises Unavailable: come again."""

    def pass_over(self, cursor: Mapping[str, Any]) -> None:
        """Store a place alone, behind what is no event, or at the start. Raises Unavailable."""

    def alive(self) -> None:
        """Note that the platform has just been heard."""


class Unusable(ChannelError):
    """The account cannot work until somebody changes something, such as its token."""


class ChannelPoller(ABC):
    """Listens to one account, in a thread of its own, until it is interrupted or fails.

    `silence` is for how many seconds a platform that works may not be heard at most.
    """

    silence: ClassVar[float] = 120.0

    def __init__(self, adapter: Any) -> None:
        """Take the adapter of the account."""
        self.adapter = adapter

    @abstractmethod
    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Fetch and hand over. Raises ChannelError, Unusable and Interrupted."""

    @staticmethod
    def hand_over(store: Callable[[], _T], interrupt: Interrupt) -> _T:
        """Have something stored by a door, as often as it takes. Raises Interrupted.

        What follows waits: else a place behind it would be stored, and it would never come again.
        """
        while True:
            interrupt.check()
            try:
                return store()
            except Unavailable as away:
                interrupt.wait(away.retry_after)
