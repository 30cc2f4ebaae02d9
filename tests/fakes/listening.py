"""A poller that runs in a thread, and the desk that it hands over to."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from habakkuk.channels.messages import Event, InboundMessage, Source
from habakkuk.channels.polling import ChannelPoller
from habakkuk.core.errors import Unavailable
from habakkuk.core.interrupt import Interrupt, Reason

_E = TypeVar("_E", bound=Event)


class Desk:
    """A door that keeps what it takes with its place, as one transaction does."""

    def __init__(self) -> None:
        self.place: Mapping[str, Any] | None = None
        self.events: list[Event] = []
        self.turned_away: list[Event] = []
        self.beats = 0
        # So many are turned away; negative: all of them.
        self.refuses = 0
        self.hears: Callable[[Event], object] = lambda _event: None
        self.strangers: set[str] = set()

    def cursor(self) -> Mapping[str, Any] | None:
        return self.place

    def turns_away(self, event: Event, cursor: Mapping[str, Any] | None) -> bool:
        self._open()
        machine = isinstance(event, InboundMessage) and event.source is not Source.PERSON
        if not machine and event.sender not in self.strangers:
            return False
        self.place = cursor or self.place
        self.turned_away.append(event)
        return True

    def take(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        self._open()
        self.place = cursor or self.place
        self.events.append(event)
        self.hears(event)

    def _open(self) -> None:
        if self.refuses:
            self.refuses -= 1
            raise Unavailable("the database is away", retry_after=0.01)

    def pass_over(self, cursor: Mapping[str, Any]) -> None:
        self.place = cursor

    def alive(self) -> None:
        self.beats += 1

    def of(self, kind: type[_E]) -> list[_E]:
        """Return what came of one kind."""
        return [one for one in list(self.events) if isinstance(one, kind)]

    @property
    def messages(self) -> list[InboundMessage]:
        """What was written, in order."""
        return self.of(InboundMessage)

    @property
    def texts(self) -> list[str]:
        """The messages that came."""
        return [one.text for one in self.of(InboundMessage)]


class Running:
    """A poller in a thread of its own, and how it ended."""

    def __init__(self, poller: ChannelPoller, desk: Desk, **settings: float) -> None:
        self.desk = desk
        self.ended: Exception | None = None
        self._poller = poller
        for name, value in settings.items():
            setattr(poller, name, value)
        self._interrupt = Interrupt()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> Exception | None:
        """End it at once, and return how it ended."""
        self._interrupt.trip(Reason.STOPPING)
        return self.end()

    def end(self) -> Exception | None:
        """Wait for its end, and return it."""
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.ended

    def _run(self) -> None:
        try:
            self._poller.run(self.desk, self._interrupt)
        except Exception as error:
            self.ended = error
