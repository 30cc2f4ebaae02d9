"""Keeps processes running: restarts what crashes, with back-off, and ends all in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.home import last_lines
from habakkuk.ops.stop import StopSignal
from habakkuk.ops.unit import Unit

Say = Callable[[str], None]
_POLL_SECONDS = 0.5  # adopted processes are not children, so their end sends no signal


@dataclass(frozen=True)
class Patience:
    """The times of supervision, in seconds."""

    first_delay: float = 1.0
    longest_delay: float = 30.0
    healthy_after: float = 60.0
    stop_within: float = 10.0


@dataclass
class _Watched:
    unit: Unit
    started: float = 0.0
    delay: float = 0.0
    restart_at: float | None = None


class Supervisor:
    """Units in stages: started first to last, ended last to first, each stage together."""

    def __init__(
        self,
        stop: StopSignal,
        say: Say,
        *,
        changed: Callable[[], None] = lambda: None,
        patience: Patience | None = None,
    ) -> None:
        """Say what happens through `say`; call `changed` whenever a process is another one."""
        self._stop = stop
        self._say = say
        self._changed = changed
        self._patience = patience or Patience()
        self._stages: list[list[_Watched]] = []

    @property
    def units(self) -> Sequence[Unit]:
        """All units, in the order of their start."""
        return [watched.unit for stage in self._stages for watched in stage]

    def start(self, units: Sequence[Unit]) -> None:
        """Start a stage of units. Raises ConfigurationError when one cannot be started."""
        stage: list[_Watched] = []
        self._stages.append(stage)
        for unit in units:
            # Listed first: one that fails to come up must be ended, too.
            stage.append(_Watched(unit, started=time.monotonic()))
            unit.start()
            self._changed()

    def watch(self) -> None:
        """Restart what ends, until a stop is requested."""
        while not self._stop.requested:
            self.look()
            self._stop.sleep(self._until_next())

    def look(self) -> None:
        """Look once at every unit: note what ended, start again what is due."""
        for stage in self._stages:
            for watched in stage:
                if watched.restart_at is None:
                    self._note_end(watched)
                elif watched.restart_at <= time.monotonic():
                    self._restart(watched)

    def end_all(self) -> list[str]:
        """End the stages last to first; return the names of what had to be killed."""
        killed: list[str] = []
        for stage in reversed(self._stages):
            killed += self._end_stage([watched.unit for watched in stage])
        return killed

    def _until_next(self) -> float:
        now = time.monotonic()
        due = [w.restart_at - now for stage in self._stages for w in stage if w.restart_at]
        return min([_POLL_SECONDS, *due])

    def _note_end(self, watched: _Watched) -> None:
        reason = watched.unit.ended()
        if reason is None:
            return
        now = time.monotonic()
        healthy = now - watched.started >= self._patience.healthy_after
        longer = min(watched.delay * 2, self._patience.longest_delay)
        watched.delay = self._patience.first_delay if healthy else longer
        watched.delay = watched.delay or self._patience.first_delay
        watched.restart_at = now + watched.delay
        self._tell(watched.unit, f"{reason}; starting it again in {watched.delay:.3g} s")

    def _restart(self, watched: _Watched) -> None:
        watched.started = time.monotonic()
        watched.restart_at = None
        try:
            watched.unit.start()
        except ConfigurationError as error:
            watched.delay = min(watched.delay * 2, self._patience.longest_delay)
            watched.restart_at = watched.started + watched.delay
            self._say(f"{watched.unit.name} could not be started again: {error}")
            return
        self._changed()

    def _tell(self, unit: Unit, news: str) -> None:
        lines = last_lines(unit.log)
        self._say(f"{unit.name} {news}.{' Its last lines:' if lines else ''}")
        for line in lines:
            self._say(f"    {line}")

    def _end_stage(self, units: Sequence[Unit]) -> list[str]:
        running = [unit for unit in units if unit.ended() is None]
        for unit in running:
            unit.ask_to_end()
        deadline = time.monotonic() + self._patience.stop_within
        while running and time.monotonic() < deadline:
            if self._stop.hurried and all(unit.may_hurry for unit in running):
                break
            self._stop.sleep(0.05)
            running = [unit for unit in running if unit.ended() is None]
        for unit in running:
            unit.kill()
        for unit in running:
            self._wait_for_end(unit)
        return [unit.name for unit in running]

    def _wait_for_end(self, unit: Unit) -> None:
        """Wait for a killed unit; one whose own way of ending at once fails is killed plainly."""
        deadline = time.monotonic() + self._patience.stop_within
        while unit.ended() is None:
            if time.monotonic() > deadline:
                Unit.kill(unit)
            self._stop.sleep(0.05)
