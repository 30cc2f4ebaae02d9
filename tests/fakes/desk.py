"""What a poller hands over to, and a poller in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from habakkuk.channels.contract import ChannelPoller
from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.core.errors import Unavailable
from habakkuk.core.interrupt import Interrupt, Reason


class Desk:
    """A door that keeps what it takes with its place, as one transaction does."""

    def __init__(self) -> None:
        self.place: Mapping[str, Any] | None = None
        self.events: list[Event] = []
        self.beats = 0
        self.refuses = 0

    def cursor(self) -> Mapping[str, Any] | None:
        """Return the place."""
        return self.place

    def take(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        """Keep an event, unless the database is away."""
        if self.refuses > 0:
            self.refuses -= 1
            raise Unavailable("the database is away", retry_after=0.01)
        if cursor is not None:
            self.place = cursor
        self.events.append(event)

    def pass_over(self, cursor: Mapping[str, Any]) -> None:
        """Keep a place."""
        self.place = cursor

    def alive(self) -> None:
        """Count."""
        self.beats += 1

    @property
    def messages(self) -> list[InboundMessage]:
        """What was written, in order."""
        return [one for one in list(self.events) if isinstance(one, InboundMessage)]

    @property
    def texts(self) -> list[str]:
        """The texts of what was written, in order."""
        return [one.text for one in self.messages]


class Running:
    """A poller in a thread of its own, and how it ended."""

    def __init__(self, poller: ChannelPoller, desk: Desk, **settings: float) -> None:
        self.desk = desk
        self.ended: Exception | None = None
        self._poller = poller
        for name, value in settings.items():
            setattr(self._poller, name, value)
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
