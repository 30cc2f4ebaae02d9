"""Messages that nobody survives, among others: they are set aside, the others are answered.

Turns whose tool kills the worker each time, model streams that break at every place, and bodies
that cannot be read or stored.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.drills.asks import Ask, Surface
from scripts.drills.checker import Checker
from scripts.drills.clients import Patience, carry_out, post_chat
from scripts.drills.crew import Crew
from scripts.drills.load import Load, Mix
from scripts.drills.report import Plan, Result
from scripts.drills.toolset.core.die import POINT
from scripts.drills.world import Options, World
from scripts.harness.http import Cut
from scripts.harness.progress import Progress

_MIX = Mix(chat=4, whole=2, stream=2, rest=0.1)
_DEADLY = 3
_DIE = "die-"
# Blueprint §5: a job that crashed three times without progress is set aside.
_CRASHES = 3
_TURN_SECONDS = 120
_WARM_SECONDS = 2.0
_REFUSED = range(400, 500)
_TAKEN = 202
# What was said before a stream broke is kept.
_ENDS = ("failed", "partial")
# The first places come before anything that is kept, so that the same question stands before the
# next one, and this model, which reads its orders there, breaks off again.
_CUTS = {
    "reasoning": ("[[think of it]] [[cut {n}]]", range(2)),
    "text": ("[[cut {n}]]", range(1)),
    "call": ('[[think of it]] [[tool peek {{"mark": "p"}}]] [[cut {n}]]', range(2)),
}
_PLACES = 5
_BODIES = {
    "NUL": b'{"conversation": "poison", "text": "a\\u0000b"}',
    "lone surrogate": b'{"conversation": "poison", "text": "a\\ud800b"}',
    "10 MB": json.dumps({"conversation": "poison", "text": "a" * 10_000_000}).encode(),
    "10,000 deep": b'{"conversation": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "invalid UTF-8": b'{"conversation": "poison", "text": "\xff\xfe"}',
}


def run(plan: Plan, progress: Progress) -> Result:
    """Mix all of it into ordinary load; the load must not notice."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    broken, dying = _broken_streams(), _deadly_calls()
    with World(Options(workers=2, turns=8, forked=True, keep=plan.keep)) as world:
        crew = Crew(world, rng)
        load = Load(world.api, rng, "p", _MIX)
        crew.start()
        load.start()
        time.sleep(_WARM_SECONDS)
        try:
            progress.say("bodies", hurry=True)
            bodies = {name: _posted(world, body) for name, body in _BODIES.items()}
            progress.say("broken streams and deadly calls", hurry=True)
            ends = [_outcome(world, ask) for ask in [*broken, *dying]]
            progress.say("the same conversations go on", hurry=True)
            after = [_ask(f"{ask.id}-after", "", ask.id) for ask in [*_answered(broken), *dying]]
            for ask in after:
                carry_out(world.api, ask, Patience(_TURN_SECONDS))
            asks = [*load.stop(), *after]
        finally:
            crew.stop()
        unfinished = {str(ask.session) for ask in [*broken, *dying]}
        verdict = Checker(world, asks, unfinished).verdict()
    figures = {
        "bodies": bodies,
        "ends": ends,
        "deaths": crew.kills.fired[POINT],
        "unexpected_ends": crew.kills.unexpected,
        "others": len(asks),
        "checks": verdict.figures(),
    }
    return Result("poison", verdict.ok and _held(figures), figures)


def _held(figures: Mapping[str, Any]) -> bool:
    """Whether each body was refused or taken, and each turn ended and told its person so."""
    deadly = [one for one in figures["ends"] if one["name"].startswith(_DIE)]
    return (
        all(status in _REFUSED or status == _TAKEN for status in figures["bodies"].values())
        and all(one["outcome"] in _ENDS and one["told"] for one in figures["ends"])
        and all(one["crashes"] == _CRASHES for one in deadly)
        and figures["deaths"] == _CRASHES * _DEADLY
        and not figures["unexpected_ends"]
    )


def _posted(world: World, body: bytes) -> int:
    """Return the status of the answer to one body, 0 when there was none."""
    try:
        return world.api.post_bytes("/api/chat", body, {}).status
    except Cut:
        return 0


def _broken_streams() -> list[Ask]:
    return [
        _ask(f"cut-{kind}-{place}", directives.format(n=place))
        for kind, (directives, _) in _CUTS.items()
        for place in range(_PLACES)
    ]


def _answered(broken: Sequence[Ask]) -> list[Ask]:
    """Return those of which something was kept."""
    nothing = {f"cut-{kind}-{place}" for kind, (_, places) in _CUTS.items() for place in places}
    return [ask for ask in broken if ask.id not in nothing]


def _deadly_calls() -> list[Ask]:
    return [_ask(f"{_DIE}{number}", "[[tool die {}]]") for number in range(_DEADLY)]


def _ask(name: str, directives: str, room: str = "") -> Ask:
    text = f"{name} says hello {directives}".strip()
    return Ask(name, Surface.CHAT, text, (), f"{room or name}-room")


def _outcome(world: World, ask: Ask) -> dict[str, Any]:
    """Send it and wait for its end; say how it ended and whether its person was told."""
    began = time.monotonic()
    post_chat(world.api, ask)
    until = began + _TURN_SECONDS
    body: dict[str, Any] = {}
    while not body.get("ended") and time.monotonic() < until:
        body = world.api.get(f"/api/turns/{ask.turn}?wait=10").body
    rows = world.records.rows("SELECT crashes FROM jobs WHERE id = %s", ask.turn)
    return {
        "name": ask.id,
        "outcome": body.get("outcome"),
        "told": (body.get("reply") or {}).get("text", "")[:120],
        "crashes": rows[0]["crashes"] if rows else None,
        "seconds": round(time.monotonic() - began, 2),
    }
