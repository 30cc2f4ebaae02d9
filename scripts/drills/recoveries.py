"""How soon the model was asked again about a turn whose worker was killed or frozen."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.drills.crew import Blow
from scripts.drills.world import World
from tests.fakes.model_script import sums_up

# Every ask begins with its id.
_ASK = re.compile(r"(\S+) says hello")
_ASKED = "SELECT turn_id, body FROM chat_messages WHERE author = 'user' AND turn_id IS NOT NULL"


@dataclass(frozen=True)
class Recovery:
    """One blow and the first new model request of a turn that it hit.

    `probed`: the turn was hit twice in a row, so that it had to wait for the probe.
    """

    blow: Blow
    seconds: float
    ask: str
    probed: bool


class Recoveries:
    """The recoveries of a drill.

    A turn that needed no more of the model, such as one at its end, shows nothing; one that was hit
    again before it had recovered counts from the last time.
    """

    def __init__(self, world: World, blows: Sequence[Blow]) -> None:
        """Read what the model saw and which turn was about what."""
        self._requests = _requests(world)
        self._asks = {row["turn_id"]: _name(row["body"]) for row in world.records.rows(_ASKED)}
        self._hits: dict[str, list[float]] = defaultdict(list)
        for blow in blows:
            for turn in blow.turns:
                self._hits[turn].append(blow.at)
        self._found = [one for blow in blows for one in self._of_blow(blow)]

    def seconds(self, *, frozen: bool, rested: bool, probed: bool = False) -> list[float]:
        """Return those of one kind of blow."""
        return [
            one.seconds
            for one in self._found
            if (one.blow.frozen, one.blow.rested, one.probed) == (frozen, rested, probed)
        ]

    def slowest(self, count: int = 5) -> list[tuple[float, str]]:
        """Return the longest that did not wait for the probe."""
        usual = sorted((one.seconds, one.ask) for one in self._found if not one.probed)
        return [(round(seconds, 2), ask) for seconds, ask in reversed(usual[-count:])]

    def _of_blow(self, blow: Blow) -> Iterator[Recovery]:
        """Yield the first turn that went on, of those with and of those without a crash before."""
        for probed in (False, True):
            turns = [turn for turn, crashes in blow.turns.items() if (crashes > 0) is probed]
            taken = [found for turn in turns if (found := self._taken(blow, turn)) is not None]
            if taken:
                seconds, ask = min(taken)
                yield Recovery(blow, seconds, ask, probed and not blow.frozen)

    def _taken(self, blow: Blow, turn: str) -> tuple[float, str] | None:
        ask = self._asks.get(turn, "")
        later = [at for at in self._requests.get(ask, ()) if at > blow.at]
        if not later:
            return None
        first = min(later)
        if any(blow.at < at < first for at in self._hits[turn]):
            return None
        return first - blow.at, ask


def _requests(world: World) -> Mapping[str, list[float]]:
    times: dict[str, list[float]] = defaultdict(list)
    for seen in world.model_seen()["requests"]:
        if sums_up(seen["text"]):
            # It names many asks and answers none.
            continue
        times[_name(seen["text"])].append(seen["time"])
    return times


def _name(text: str) -> str:
    found = _ASK.search(text)
    return found[1] if found else ""
