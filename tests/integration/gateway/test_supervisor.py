"""One poller an account, started again whenever it ends, and never two of them (case: K82)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from sqlalchemy import text

from habakkuk.channels.contract import Manifest, Withheld
from habakkuk.channels.messages import Event, InboundMessage
from habakkuk.channels.polling import ChannelPoller, Door, Unusable
from habakkuk.channels.registry import Channels, Line
from habakkuk.channels.webhook.adapter import WebhookAdapter
from habakkuk.channels.webhook.manifest import WebhookSettings
from habakkuk.core.config.schema import ChannelConfig
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database
from habakkuk.gateway.health import ChannelHealth, State
from habakkuk.gateway.intake import Intake, Received
from habakkuk.gateway.store import cursors
from habakkuk.gateway.supervisor import Parts, Supervisor
from habakkuk.gateway.types import Cursor
from tests.fakes.stack import Stack, until

_NAME = "phone"


class _Settings(WebhookSettings):
    @property
    def polls(self) -> bool:
        return True


class _Adapter(WebhookAdapter):
    manifest = Manifest("webhook", "Phone", _Settings, 4000)

    def __init__(self) -> None:
        self.settings = _Settings(secret_env="SECRET")

    @property
    def identity(self) -> str:
        return "the token"

    @property
    def sends(self) -> bool:
        return False

    def withheld(self, place: Mapping[str, Any]) -> list[Withheld]:
        return [Withheld(f"mail {n}", n, "broken", "delete it") for n in place.get("aside", ())]


@dataclass
class Platform:
    """What a poller fetches: events with their places, or a failure to raise."""

    steps: list[Event | Exception] = field(default_factory=list)
    silence: float = 120.0
    runs: int = 0
    began_at: list[Mapping[str, Any] | None] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)


class _Poller(ChannelPoller):
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self.silence = platform.silence  # type: ignore[misc] # of a class elsewhere

    def run(self, door: Door, interrupt: Interrupt) -> None:
        platform = self._platform
        platform.runs += 1
        place = door.cursor()
        platform.began_at.append(place)
        number = int(place["n"]) if place else 0
        while True:
            while number < len(platform.steps):
                step = platform.steps[number]
                number += 1
                if isinstance(step, Exception):
                    platform.steps[number - 1] = _message(f"instead of {number}")
                    raise step
                door.take(step, {"n": number})
            if interrupt.wait(0.01):
                platform.stopped.set()
            interrupt.check()


class _Channels:
    """The accounts as the supervisor sees them: one, whose poller is ours."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        config = ChannelConfig(type="webhook", allow_from=["alice"])
        self.configs = {_NAME: config}
        self.polled = [_NAME]
        self._line = Line(_NAME, config, _Adapter())

    def line(self, _name: str) -> Line:
        return self._line

    def poller(self, _line: Line) -> ChannelPoller:
        return _Poller(self._platform)


def _message(said: str, sender: str = "alice") -> InboundMessage:
    return InboundMessage(f"id of {said}", "room", sender, said)


@dataclass
class Watched:
    """A supervisor of one account, and what is seen of it."""

    stack: Stack
    platform: Platform
    make: Callable[[], Supervisor]
    health: ChannelHealth

    @property
    def state(self) -> State:
        return self.health.all()[0].state

    @property
    def reason(self) -> str:
        return self.health.all()[0].reason

    def said(self) -> list[str]:
        rows = self.stack.container.database.run(
            text("SELECT body FROM chat_messages WHERE account = 'phone' ORDER BY seq")
        )
        return [row.body for row in rows]


@pytest.fixture
def watched(stack: Stack) -> Iterator[Watched]:
    platform = Platform()
    channels = cast("Channels", _Channels(platform))
    parts = Parts(stack.container.database, channels, stack.container.intake)
    made: list[Supervisor] = []

    def make() -> Supervisor:
        supervisor = Supervisor(parts)
        made.append(supervisor)
        supervisor.start()
        return supervisor

    yield Watched(stack, platform, make, ChannelHealth(stack.container.database, channels))
    for supervisor in made:
        supervisor.stop()


def test_what_is_fetched_is_stored_with_its_place(watched: Watched) -> None:
    watched.platform.steps += [_message("one"), _message("two", "mallory"), _message("three")]
    first = watched.make()
    until(lambda: watched.said() == ["one", "three"])
    first.stop()
    watched.platform.steps.append(_message("four"))
    watched.make()
    until(lambda: watched.said() == ["one", "three", "four"])
    assert watched.platform.began_at == [None, {"n": 3}]


def test_a_stranger_moves_the_place_too(watched: Watched) -> None:
    watched.platform.steps.append(_message("one", "mallory"))
    supervisor = watched.make()
    until(lambda: watched.state is State.LISTENING)
    database = watched.stack.container.database
    place = text("SELECT value FROM channel_state WHERE account = 'phone' AND name = 'position'")
    until(lambda: [row.value for row in database.run(place)] == [{"n": 1}])
    supervisor.stop()
    assert watched.said() == []


def test_what_a_platform_does_not_give_out_is_written_down_for_who_runs_this(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("habakkuk.gateway.supervisor._WRITE_SECONDS", 0.01)
    monkeypatch.setattr("habakkuk.gateway.supervisor._TICK_SECONDS", 0.01)
    place = Cursor("position", {"n": 0, "aside": list(range(1, 31))})
    cursors.save_alone(watched.stack.container.database, "webhook", _NAME, place)
    watched.make()
    until(lambda: watched.health.all()[0].withheld)
    told = watched.health.all()[0]
    assert [one.what for one in told.withheld] == [f"mail {n}" for n in range(30, 10, -1)]
    assert told.more == 10


@pytest.mark.parametrize("failure", [ChannelError("the line broke"), ValueError("a fault of ours")])
def test_one_that_fails_is_started_again_where_it_stood(
    watched: Watched, failure: Exception
) -> None:
    watched.platform.steps += [_message("one"), failure, _message("two")]
    watched.make()
    until(lambda: watched.said() == ["one", "instead of 2", "two"])
    assert watched.platform.began_at == [None, {"n": 1}]
    assert watched.platform.runs == 2


def test_an_event_that_fails_again_and_again_holds_nothing_up(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Intake.take

    def fails(self: Intake, line: Line, event: Event, cursor: Cursor | None = None) -> Received:
        if isinstance(event, InboundMessage) and event.text == "poison":
            raise ValueError("a fault of ours")
        return take(self, line, event, cursor)

    monkeypatch.setattr(Intake, "take", fails)
    monkeypatch.setattr("habakkuk.gateway.supervisor._SHORTEST", 0.01)
    watched.platform.steps += [_message("one"), _message("poison"), _message("two")]
    watched.make()
    until(lambda: watched.said() == ["one", "two"])
    assert watched.platform.began_at == [None, {"n": 1}, {"n": 1}]


def test_one_that_cannot_work_waits_for_a_person(watched: Watched) -> None:
    watched.platform.steps.append(Unusable("the token is not valid"))
    watched.make()
    until(lambda: watched.state is State.CLOSED)
    assert watched.reason == "the token is not valid"
    watched.health.restart(_NAME)
    until(lambda: watched.said() == ["instead of 1"])
    assert watched.state is State.LISTENING


def test_what_is_written_late_hides_no_newer_state(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its thread and the ticks both write the state, which is written again only if it changes."""
    save = cursors.save_alone
    ticked, closed = threading.Event(), threading.Event()

    def slow(database: Database, channel: str, account: str, cursor: Cursor) -> None:
        state = cursor.value.get("state")
        if state == State.LISTENING and threading.current_thread().name == "channels":
            ticked.set()
            closed.wait(0.5)
        elif state == State.LISTENING:
            ticked.wait(0.5)
        save(database, channel, account, cursor)
        if state == State.CLOSED:
            closed.set()

    monkeypatch.setattr(cursors, "save_alone", slow)
    monkeypatch.setattr("habakkuk.gateway.supervisor._TICK_SECONDS", 0.02)
    watched.platform.steps.append(Unusable("the token is not valid"))
    supervisor = watched.make()
    assert closed.wait(30)
    supervisor.stop()
    assert watched.state is State.CLOSED


def test_a_second_process_stands_by_and_takes_over(watched: Watched) -> None:
    first = watched.make()
    until(lambda: watched.platform.runs == 1)
    watched.make()
    until(lambda: watched.state is State.STANDBY)
    assert watched.platform.runs == 1
    first.stop()
    until(lambda: watched.platform.runs == 2)


def test_a_platform_that_is_silent_for_too_long_is_called_anew(watched: Watched) -> None:
    watched.platform.silence = 0.1
    watched.make()
    until(lambda: watched.platform.runs >= 2)
    assert watched.platform.stopped.is_set()


def test_a_seat_that_is_lost_ends_the_poller(watched: Watched) -> None:
    watched.make()
    until(lambda: watched.platform.runs == 1)
    watched.stack.container.database.run(
        text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'habakkuk channels seat' AND datname = current_database()"
        )
    )
    until(lambda: watched.platform.runs == 2)


def test_nobody_listens_when_the_process_is_not_there(watched: Watched) -> None:
    assert watched.state is State.NOBODY
