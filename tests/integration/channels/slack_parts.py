"""One app at a fake Slack, and what listens to it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from habakkuk.channels.contract import Account
from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.channels.slack.adapter import SlackAdapter
from habakkuk.channels.slack.manifest import SlackSettings
from habakkuk.channels.slack.poller import SlackPoller
from habakkuk.core.errors import Unavailable
from habakkuk.core.interrupt import Interrupt, Reason
from habakkuk.core.outside import OutsideHttp
from tests.fakes.slack_server import APP_TOKEN, BOT_TOKEN, SlackServer


def app(slack: SlackServer, **more: Any) -> SlackAdapter:
    """Return the adapter of an account, with other settings and secrets where they are named."""
    secrets = {"BOT": BOT_TOKEN, "APP": APP_TOKEN, "SIGNING": "0" * 32} | more.pop("secrets", {})
    names = {"bot_token_env": "BOT", "app_token_env": "APP", "api_url": slack.url} | more
    return SlackAdapter(Account("mine", secrets), SlackSettings(**names), OutsideHttp())


class Desk:
    """A door that keeps what it takes with its place, as one transaction does."""

    def __init__(self) -> None:
        self.place: Mapping[str, Any] | None = None
        self.events: list[Event] = []
        self.beats = 0
        self.refuses = 0

    def cursor(self) -> Mapping[str, Any] | None:
        return self.place

    def take(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        if self.refuses > 0:
            self.refuses -= 1
            raise Unavailable("the database is away", retry_after=0.01)
        self.place = cursor or self.place
        self.events.append(event)

    def alive(self) -> None:
        self.beats += 1

    @property
    def texts(self) -> list[str]:
        return [one.text for one in list(self.events) if isinstance(one, InboundMessage)]


class Running:
    """A poller in a thread of its own, and how it ended."""

    def __init__(self, adapter: SlackAdapter, desk: Desk) -> None:
        self.desk = desk
        self.ended: Exception | None = None
        self._poller = SlackPoller(adapter)
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
