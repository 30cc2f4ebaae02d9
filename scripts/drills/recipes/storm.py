"""A platform that repeats everything at once, while web is killed again and again.

Every message is sent many times by many clients in any order, with a newer time and signature, with
header names in capitals, and at last with another body under the same id. One turn each, the first
body's; a repeat is answered like the first.
"""

from __future__ import annotations

import json
import math
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from standardwebhooks.webhooks import Webhook

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.figures import spread
from scripts.harness.http import Answer, Cut, exchange, request_bytes
from scripts.harness.progress import Progress

_ACCOUNT = "keyed"
_ROOMS = 100
_ACCEPTED = 202
_BUSY = 503
_KILL_SECONDS = 1.0
_PAUSE_SECONDS = 0.02
_PATIENCE_SECONDS = 60.0
_SETTLE_SECONDS = 300.0
_OTHER_BODIES = 100
_BUSY_BAR = 0.01


@dataclass(frozen=True)
class Shape:
    """How many messages, how often each, from how many clients; the bar for an answer, seconds."""

    messages: int
    copies: int
    clients: int
    slowest: float


# reliability.md, C5; and the storm that a channel must stand.
MANY_COPIES = Shape(1_000, 20, 32, 0.1)
MANY_CLIENTS = Shape(2_500, 2, 100, 0.3)


@dataclass
class _Seen:
    """What the clients saw. Its lists are only ever appended to."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    cuts: list[str] = field(default_factory=list)
    hasty: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, answer: Answer) -> None:
        with self.lock:
            self.statuses[answer.status] += 1
            if answer.status == _ACCEPTED:
                self.seconds.append(answer.seconds)
            elif answer.status == _BUSY and "retry-after" not in answer.headers:
                self.hasty.append(str(answer.body)[:100])


def run(shape: Shape, plan: Plan, progress: Progress) -> Result:
    """Send all copies, kill web meanwhile, and look at what there is at the end."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    with World(Options(outside=True, keep=plan.keep)) as world:
        asks = [_ask(number) for number in range(shape.messages)]
        seen = _Seen()
        client = _Client(world, seen)
        copies = [client.written(ask) for ask in asks for _ in range(shape.copies)]
        rng.shuffle(copies)
        progress.say(f"{len(copies)} requests from {shape.clients} clients", hurry=True)
        with _Killer(world) as killer, ThreadPoolExecutor(shape.clients) as pool:
            began = time.monotonic()
            list(pool.map(client.insist, copies))
            lasted = time.monotonic() - began
        others = [client.written(ask, other=True) for ask in asks[:_OTHER_BODIES]]
        later = [other for other in others if not client.insist(other)]
        progress.say("waiting for the turns", hurry=True)
        _settle(world)
        _read_answers(world, asks)
        verdict = Checker(world, asks).verdict()
    figures, held = _judged(shape, seen)
    figures |= {"web_kills": killer.kills, "seconds": round(lasted, 1), "checks": verdict.figures()}
    ok = verdict.ok and held and not later and killer.kills > 0
    return Result("storm", ok, figures)


def _judged(shape: Shape, seen: _Seen) -> tuple[dict[str, Any], bool]:
    """Return the figures of what the clients saw, and whether their bars hold."""
    ordered = sorted(seen.seconds)
    slowest = ordered[math.ceil(len(ordered) * 0.99) - 1]
    busy = seen.statuses[_BUSY] / seen.statuses.total()
    others = {status: n for status, n in seen.statuses.items() if status not in (_ACCEPTED, _BUSY)}
    figures = {
        "messages": shape.messages,
        "accepted_s": spread(seen.seconds) | {"p99": round(slowest, 3)},
        "statuses": dict(seen.statuses),
        "cut": len(seen.cuts),
        "busy_share": round(busy, 4),
        "busy_without_retry_after": seen.hasty,
    }
    held = not others and not seen.hasty and busy <= _BUSY_BAR and slowest <= shape.slowest
    return figures, held


def _ask(number: int) -> Ask:
    name = f"storm-{number}"
    room = f"storm-room-{number % _ROOMS}"
    return Ask(name, Surface.WEBHOOK, f"{name} says hello", (), room, account=_ACCOUNT)


@dataclass(frozen=True)
class _Copy:
    """A message as it is sent once more, ready to go."""

    ask: Ask
    request: bytes = field(repr=False)


class _Client:
    """Sends messages, until each is taken."""

    def __init__(self, world: World, seen: _Seen) -> None:
        self._port = world.web_port
        self._webhook = Webhook(world.platforms.secret)
        self._seen = seen

    def insist(self, copy: _Copy) -> bool:
        """Send one copy, again while nobody answers or web is busy; whether it was taken."""
        ask = copy.ask
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until:
            answer = self._once(copy)
            if answer is not None and answer.status != _BUSY:
                return self._told(ask, answer)
            time.sleep(_PAUSE_SECONDS if answer is None else float(answer.headers["retry-after"]))
        ask.problem = "nobody took it"
        return False

    def _told(self, ask: Ask, answer: Answer) -> bool:
        if answer.status != _ACCEPTED:
            ask.problem = f"HTTP {answer.status}: {answer.body}"
            return False
        (told,) = answer.body["messages"]
        if ask.turn not in (None, told["turn"]):
            ask.faults.append(f"a repeat began the turn {told['turn']} beside {ask.turn}")
        ask.turn = told["turn"]
        ask.accepted = answer.seconds
        return True

    def _once(self, copy: _Copy) -> Answer | None:
        try:
            answer = exchange(self._port, copy.request)
        except Cut as cut:
            self._seen.cuts.append(str(cut))
            return None
        self._seen.note(answer)
        return answer

    def written(self, ask: Ask, *, other: bool = False) -> _Copy:
        """Sign one copy with the time of now; every second one has its header names in capitals."""
        said = "another body under the same id" if other else ask.text
        body = json.dumps({"chat": ask.conversation, "sender": {"id": "drill"}, "text": said})
        now = datetime.now(UTC)
        headers = {
            "webhook-id": ask.id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._webhook.sign(ask.id, now, body),
        }
        if now.microsecond % 2:
            headers = {name.upper(): value for name, value in headers.items()}
        path = f"/channels/{ask.account}"
        return _Copy(ask, request_bytes(self._port, path, body.encode(), headers))


class _Killer:
    """Kills one of those that serve web's requests each second; their parent starts another."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.kills = 0

    def __enter__(self) -> _Killer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_KILL_SECONDS):
            # The longest alive, so that each gets its turn.
            for pid in _children(self._world.web.pid if self._world.web else 0)[:1]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills += 1


def _children(pid: int) -> list[int]:
    """Return the children of a process in the order of their birth."""
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _settle(world: World) -> None:
    until = time.monotonic() + _SETTLE_SECONDS
    while world.records.open_jobs() and time.monotonic() < until:
        time.sleep(0.1)


def _read_answers(world: World, asks: Sequence[Ask]) -> None:
    """Note what the platform shows in reply to each."""
    for ask in asks:
        found = world.platform_api.get(f"/answers/{ask.account}/{ask.id}").body
        parts = {one["part"]: one for one in found if one["turn"] is not None}
        ask.answers = [" ".join(str(parts[number]["text"]) for number in sorted(parts))]
        if not parts:
            ask.problem = ask.problem or "no answer at the platform"


storm = partial(run, MANY_COPIES)
crowd = partial(run, MANY_CLIENTS)
