"""Listens to the accounts whose messages have to be fetched (cases: K8, K82; seed, Channels).

Each has a thread. One process at a time polls an account: PostgreSQL drops the seat of one that
died. A poller that ends is started again, after one second up to five minutes, and one that hears
nothing for longer than its platform is ever silent is torn down: a line can be dead and look open.
"""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from habakkuk.channels.messages import Event
from habakkuk.channels.polling import ChannelPoller, Unusable
from habakkuk.channels.registry import Channels, Line
from habakkuk.core.errors import (
    ChannelError,
    ConfigurationError,
    HabakkukError,
    Unavailable,
    UserError,
)
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Database, DatabaseAway
from habakkuk.gateway.health import ALIVE, POSITION, STATUS, SUPERVISOR, State, withheld
from habakkuk.gateway.intake import Fate, Intake, Received
from habakkuk.gateway.offers import offer
from habakkuk.gateway.store import cursors
from habakkuk.gateway.types import Cursor
from habakkuk.jobs.loop import Loop

_Work = Callable[[Line, Event, Cursor | None], Received | None]
_log = get_logger("gateway.supervisor")
_TICK_SECONDS = 2.0
_WRITE_SECONDS = 15.0
_STANDBY_SECONDS = 3.0
# An operator has to change something first.
_CLOSED_SECONDS = 300.0
# Seed, Channels: from 1 s to 5 min, anew after a healthy minute.
_SHORTEST, _LONGEST, _HEALTHY = 1.0, 300.0, 60.0
# What fails so often by a fault of ours is passed over, or nothing behind it would ever be read.
_MOST_FAULTS = 3


@dataclass(frozen=True)
class Parts:
    """What every account's keeper works with."""

    database: Database
    channels: Channels
    intake: Intake


class Supervisor:
    """Keeps all pollers of this process running. `start` returns at once."""

    def __init__(self, parts: Parts) -> None:
        """Prepare; nothing connects yet."""
        self._database = parts.database
        self._accounts = [_Account(parts, name) for name in parts.channels.polled]
        self._loops = [Loop(f"channel {one.name}", one.run_once) for one in self._accounts]
        self._ticks = Loop("channels", self._tick)
        self._told = float("-inf")

    def start(self) -> None:
        """Begin to listen to every account."""
        for loop in [*self._loops, self._ticks]:
            loop.start()

    def stop(self) -> None:
        """End every poller; what one has stored stays stored."""
        self._ticks.stop()
        for account in self._accounts:
            account.end()
        for loop in self._loops:
            loop.stop()

    def _tick(self) -> float:
        if time.monotonic() - self._told >= _WRITE_SECONDS:
            host = socket.gethostname()
            cursors.save_alone(self._database, SUPERVISOR, host, Cursor(ALIVE, {}))
            self._told = time.monotonic()
        for account, loop in zip(self._accounts, self._loops, strict=True):
            if account.look():
                loop.kick()
        return _TICK_SECONDS


class _Account:
    """One account: its state, and one run of its poller after the other."""

    def __init__(self, parts: Parts, name: str) -> None:
        self.name = name
        self._parts = parts
        self._failures = 0
        self._state = State.STARTING
        self._reason = ""
        self._written = float("-inf")
        self._began = time.time()
        self._ending = False
        self._door: _Door | None = None
        self._seat: cursors.Seat | None = None
        self._interrupt: Interrupt | None = None
        self._channel = ""
        self._faults: Counter[str] = Counter()
        # Two threads write the state down: what one read before a change may not be written after.
        self._telling = threading.Lock()

    def run_once(self) -> float:
        """Poll until that ends; return the seconds until the next try."""
        try:
            line = self._parts.channels.line(self.name)
        except ConfigurationError as error:
            return self._pause(State.CLOSED, str(error), _CLOSED_SECONDS)
        if line is None or self._ending:
            return _CLOSED_SECONDS
        self._channel = line.channel
        with cursors.seat(self._parts.database, line.channel, line.adapter.identity) as seat:
            if seat is None:
                return self._pause(State.STANDBY, "another process polls it", _STANDBY_SECONDS)
            self._seat = seat
            try:
                return self._polled(line)
            finally:
                self._seat = None

    def end(self) -> None:
        """End what runs, and begin nothing more."""
        self._ending = True
        self._restart()

    def look(self) -> bool:
        """See to a poller that is silent, lost its seat or is to begin anew; True to try now."""
        asked = cursors.load(self._parts.database, self._channel, self.name, "restart")
        if asked is not None and float(asked["at"]) > self._began:
            self._began = time.time()
            self._failures = 0
            self._restart()
            return True
        if self._state is State.LISTENING:
            self._check()
            self._write()
        return False

    def _polled(self, line: Line) -> float:
        poller = self._parts.channels.poller(line)
        interrupt = self._interrupt = Interrupt()
        if self._ending:
            # It was told so before there was anything to interrupt.
            return _CLOSED_SECONDS
        self._door = _Door(self._parts, line, poller.silence, self._faults)
        began = self._began = time.time()
        self._change(State.LISTENING, "")
        self._offer(line)
        try:
            self._run(poller, interrupt)
            reason, wanted = "the connection ended", None
        except Interrupted:
            return 0.0
        except Unusable as error:
            return self._pause(State.CLOSED, str(error), _CLOSED_SECONDS)
        except HabakkukError as error:
            reason, wanted = str(error), getattr(error, "retry_after", None)
        finally:
            self._interrupt = None
        self._failures = 0 if time.time() - began >= _HEALTHY else self._failures
        pause = max(min(_SHORTEST * 2**self._failures, _LONGEST), wanted or 0.0)
        self._failures += 1
        return self._pause(State.DOWN, reason, pause)

    def _offer(self, line: Line) -> None:
        """Tell the platform its commands: it listens without, too."""
        try:
            offer(self._parts.database, line)
        except (ChannelError, DatabaseAway) as error:
            _log.warning("commands are not offered", account=self.name, reason=str(error))

    def _run(self, poller: ChannelPoller, interrupt: Interrupt) -> None:
        assert self._door is not None  # noqa: S101 - made before
        try:
            poller.run(self._door, interrupt)
        except HabakkukError:
            raise
        except Exception as error:  # a loop's top: a fault of ours must not end the account
            _log.exception("a poller failed", account=self.name)
            kind = type(error).__name__
            raise ChannelError(f"an internal error ({kind}); the log has it") from error

    def _check(self) -> None:
        seat, door = self._seat, self._door
        if seat is None or door is None:
            return
        try:
            seat.check()
        except DatabaseAway:
            _log.warning("the seat of an account is lost", account=self.name)
            self._restart()
            return
        silent = time.monotonic() - door.heard
        if silent > door.silence:
            _log.warning("a platform is silent", account=self.name, seconds=round(silent))
            self._restart()

    def _restart(self) -> None:
        interrupt = self._interrupt
        if interrupt is not None:
            interrupt.trip(Reason.STOPPING)

    def _pause(self, state: State, reason: str, seconds: float) -> float:
        self._change(state, reason)
        return seconds

    def _change(self, state: State, reason: str) -> None:
        with self._telling:
            if (state, reason) == (self._state, self._reason):
                return
            self._state, self._reason = state, reason
            self._written = float("-inf")
        level = _log.info if state in (State.LISTENING, State.STANDBY) else _log.warning
        level("an account changed", account=self.name, state=state.value, reason=reason)
        # What the database misses now is written with the next look.
        with suppress(DatabaseAway):
            self._write()

    def _write(self) -> None:
        with self._telling:
            now = time.monotonic()
            if now - self._written < _WRITE_SECONDS or not self._channel:
                return
            told = Cursor(STATUS, self._status(now))
            cursors.save_alone(self._parts.database, self._channel, self.name, told)
            self._written = now

    def _status(self, now: float) -> dict[str, Any]:
        """Return how it is, for whoever looks."""
        door = self._door
        heard = time.time() - (now - door.heard) if door is not None else None
        value: dict[str, Any] = {"state": self._state.value, "reason": self._reason, "heard": heard}
        value |= {"since": self._began, "host": socket.gethostname()}
        if door is not None:
            value |= withheld(door.line, door.cursor())
        return value


class _Door:
    """What a poller hands over to."""

    def __init__(self, parts: Parts, line: Line, silence: float, faults: Counter[str]) -> None:
        self._parts = parts
        self.line = line
        self._faults = faults
        self.silence = silence
        self.heard = time.monotonic()

    def cursor(self) -> Mapping[str, Any] | None:
        return cursors.load(self._parts.database, self.line.channel, self.line.name, POSITION)

    def turns_away(self, event: Event, cursor: Mapping[str, Any] | None) -> bool:
        turned = self._guarded(event, cursor, self._parts.intake.turn_away)
        return turned is not None

    def take(self, event: Event, cursor: Mapping[str, Any] | None) -> None:
        self._guarded(event, cursor, self._parts.intake.take)

    def _guarded(
        self, event: Event, cursor: Mapping[str, Any] | None, work: _Work
    ) -> Received | None:
        """Have the intake do something with an event that may hold up nothing behind it."""
        self.alive()
        place = Cursor(POSITION, dict(cursor)) if cursor is not None else None
        try:
            return work(self.line, event, place)
        except Unavailable:
            raise
        except UserError as error:
            # The place was passed: what cannot be taken now is not better the next time.
            _log.info("a message was refused", account=self.line.name, reason=str(error))
            return Received(event.id, Fate.IGNORED)
        except HabakkukError:
            raise
        except Exception:  # the top of one event's work: it may not hold up all that follow
            if not self._is_hopeless(event):
                raise
            _log.exception("an event is passed over", account=self.line.name, id=event.id)
            if cursor is not None:
                self.pass_over(cursor)
            return Received(event.id, Fate.IGNORED)

    def _is_hopeless(self, event: Event) -> bool:
        """Count a failure of an event, and say whether it failed too often."""
        named = f"{type(event).__name__} {event.id}"
        self._faults[named] += 1
        if self._faults[named] < _MOST_FAULTS:
            return False
        self._faults.clear()
        return True

    def pass_over(self, cursor: Mapping[str, Any]) -> None:
        self.alive()
        place = Cursor(POSITION, dict(cursor))
        cursors.save_alone(self._parts.database, self.line.channel, self.line.name, place)

    def alive(self) -> None:
        self.heard = time.monotonic()
