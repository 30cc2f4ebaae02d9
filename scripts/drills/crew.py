"""Workers that are killed and respawned at once, each armed with the next failpoint."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import psycopg2

from scripts.drills.nursery import Fork
from scripts.drills.points import ON_SIGTERM, specs
from scripts.drills.worker import FAILPOINT
from scripts.drills.world import NotReady, World
from scripts.harness.programs import Program

_BUSY_SECONDS = 5.0
_LOOK_SECONDS = 0.02
# Right after PostgreSQL's start a missing presence lock counts for nothing, by design.
_REST_SECONDS = 11.0
_ARMED_SHARE = 0.85
_SHORT_SECONDS = 2.0
_TERM_SECONDS = 12.0


@dataclass(frozen=True)
class Blow:
    """What was done to a worker at `at`, and the turns that it ran then, with their crashes.

    `rested`: PostgreSQL had run for long enough to see a missing worker at once.
    """

    at: float
    turns: Mapping[str, int]
    frozen: bool = False
    rested: bool = True


@dataclass
class Kills:
    """How processes ended. `aimed` are workers that the drill killed while they took jobs."""

    aimed: int = 0
    web: int = 0
    beat: int = 0
    blows: list[Blow] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)

    @property
    def total(self) -> int:
        """All kills."""
        return self.aimed + self.web + self.beat + self.fired.total()


class Crew:
    """Keeps the world's workers running, and kills them while it is told to."""

    def __init__(self, world: World, rng: random.Random, every: float = 0.9) -> None:
        """Kill one at random each `every` seconds, beside the armed points."""
        self._world = world
        self._rng = rng
        self._every = every
        self._specs = specs(rng)
        self._armed = threading.Event()
        self._stop = threading.Event()
        self._own: set[int] = set()
        self._points: dict[str, str] = {}
        self._told: set[str] = set()
        self._lines = 0
        self._ready: set[int] = set()
        self._frozen: set[int] = set()
        self._rested_at = time.time()
        self.kills = Kills()
        self._threads = [
            threading.Thread(target=self._respawn, name="respawn", daemon=True),
            threading.Thread(target=self._strike, name="strike", daemon=True),
        ]

    def start(self) -> None:
        """Begin to look after the workers; nobody is killed yet."""
        for thread in self._threads:
            thread.start()

    def arm(self) -> None:
        """Kill from now on: at random, and at the points of workers that start from now on."""
        self._armed.set()

    def calm(self) -> None:
        """Kill no more, and replace the workers that are still armed."""
        self._armed.clear()
        for name, program in list(self._world.workers.items()):
            if self._points.pop(name, None) is not None and program.code is None:
                self._own.add(program.pid)
                program.kill()

    def database_started(self) -> None:
        """Note that PostgreSQL has just started."""
        self._rested_at = time.time() + _REST_SECONDS

    def freeze(self, seconds: float) -> None:
        """Stop a worker that runs turns for a while, as a pause of its machine would."""
        found = self._busy_one()
        if found is None:
            return
        self._frozen.add(found.pid)
        self._note_blow(found.pid, frozen=True)
        found.signal(signal.SIGSTOP)
        time.sleep(seconds)
        found.signal(signal.SIGCONT)
        self._frozen.discard(found.pid)

    def kill(self, name: str) -> None:
        """Kill one worker, by its name."""
        victim = self._world.workers[name]
        self._own.add(victim.pid)
        self._note_blow(victim.pid)
        victim.kill()
        self.kills.aimed += 1

    def kill_web(self) -> None:
        """Kill all of web."""
        if self._world.web is not None:
            self._own.add(self._world.web.pid)
            self._world.web.kill()
            self.kills.web += 1

    def kill_beat(self) -> None:
        """Kill beat and start it again."""
        self._world.beside["beat"].kill()
        self.kills.beat += 1
        self._world.start_beat()

    def stop(self) -> None:
        """Leave the workers alone."""
        self._armed.clear()
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._count_fired()

    def _respawn(self) -> None:
        try:
            self._look_after_all()
        except NotReady as error:
            self.kills.unexpected.append(f"nobody looks after the processes: {error}")

    def _look_after_all(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            for name, program in list(self._world.workers.items()):
                if program.code is not None:
                    self._note_end(name, program)
                    self._spawn(name)
            self._look_at_web()
            self._count_fired()

    def _look_at_web(self) -> None:
        """Start web again when all of it ended: only its inner process may die of a failpoint."""
        web = self._world.web
        if web is None or web.code is None:
            return
        if web.pid not in self._own:
            self.kills.unexpected.append(f"web ended with {web.code}: {web.last_lines(8)}")
        self._world.start_web(**self._world.options.web)

    def _spawn(self, name: str) -> None:
        self._points.pop(name, None)
        self._told.discard(name)
        variables = {}
        if self._armed.is_set() and self._rng.random() < _ARMED_SHARE:
            point, spec = next(self._specs)
            self._points[name] = point
            variables[FAILPOINT] = spec
        self._world.start_worker(name, **variables)

    def _note_end(self, name: str, program: Program | Fork) -> None:
        if program.pid in self._own or self._fired_in(program.pid):
            return
        words = program.last_lines(8)
        self.kills.unexpected.append(f"{name} ended with {program.code}: {words}")

    def _fired_in(self, pid: int) -> bool:
        return any(line.endswith(f" {pid}") for line in self._world.fired.read_text().splitlines())

    def _count_fired(self) -> None:
        lines = self._world.fired.read_text().splitlines()
        for line in lines[self._lines :]:
            point, pid = line.split()
            self.kills.fired[point] += 1
            self._note_blow(int(pid))
        self._lines = len(lines)

    def _strike(self) -> None:
        while not self._stop.wait(self._rng.uniform(0.5, 1.5) * self._every):
            alive = self._look(self._world.records.alive)
            self._note_starts(alive)
            self._tell(alive)
            if self._armed.is_set():
                self._kill_one(self._look(self._world.records.busy))

    def _look(self, look: Callable[[], set[int]]) -> set[int]:
        try:
            return look()
        except psycopg2.Error:
            return set()

    def _note_starts(self, alive: set[int]) -> None:
        for program in list(self._world.workers.values()):
            if program.pid in alive and program.pid not in self._ready:
                self._ready.add(program.pid)
                self.kills.starts.append(time.time() - program.started)

    def _tell(self, alive: set[int]) -> None:
        """Ask a worker to end whose point is passed only then."""
        for name, program in list(self._world.workers.items()):
            waits = self._points.get(name) == ON_SIGTERM and name not in self._told
            if waits and program.pid in alive:
                self._told.add(name)
                self._own.add(program.pid)
                program.signal(signal.SIGTERM)

    def _kill_one(self, busy: set[int]) -> None:
        """Kill one that runs something, but none that is about to fall by itself."""
        now = time.time()
        found = [
            (name, program)
            for name, program in self._world.workers.items()
            if program.pid in busy - self._frozen
            and name not in self._told
            and program.code is None
        ]
        armed = self._points
        rested = [
            name
            for name, program in found
            if name not in armed or now - program.started > self._grace()
        ]
        if rested:
            self.kill(self._rng.choice(rested))

    def _one_of(self, busy: set[int]) -> Program | Fork | None:
        """Return a worker that runs something and is not armed, else any that runs something."""
        found = [(n, p) for n, p in self._world.workers.items() if p.pid in busy]
        calm = [program for name, program in found if name not in self._points]
        return next(iter(calm or [program for _, program in found]), None)

    def _busy_one(self) -> Program | Fork | None:
        """Return a worker that runs something: soon one does, while turns are short."""
        until = time.monotonic() + _BUSY_SECONDS
        while time.monotonic() < until:
            found = self._one_of(self._look(self._world.records.busy))
            if found is not None:
                return found
            time.sleep(_LOOK_SECONDS)
        return None

    def _note_blow(self, pid: int, *, frozen: bool = False) -> None:
        try:
            turns = self._world.records.turns_of(pid)
        except psycopg2.Error:
            turns = {}
        now = time.time()
        self.kills.blows.append(Blow(now, turns, frozen, rested=now > self._rested_at))

    def _grace(self) -> float:
        """Return how long an armed worker is left to its point: its start and a little work."""
        starts = self.kills.starts[-9:]
        return (sorted(starts)[len(starts) // 2] if starts else 2.0) + _SHORT_SECONDS
