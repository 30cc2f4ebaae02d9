"""People of one chat platform who write while what listens and what answers is killed.

Messages come twice and late, sends are refused with a time to wait or broken off in the middle, and
the process that listens is killed as often as the workers. Each message is answered, once but for
what was counted as uncertain, and in the order in which its chat was stored.

A platform's part of it is its Stage: the fake server, and how people write there.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from scripts.drills.crew import Crew
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.progress import Progress
from tests.fakes import platform

_MESSAGES, _CHATS = 200, 10
_CONFIG = """
gateway: {{burst_window: "300ms"}}
channels:
  bot: {{{account}, allow_from: ["*"], messages_per_minute: null}}
"""
_WORD = re.compile(r"wd\d+x")
_KILL_SECONDS = 1.5
_TWICE, _REFUSED, _BROKEN = 0.2, 0.05, 0.08
_PATIENCE_SECONDS, _WRITING_SECONDS = 240.0, 360.0
_ROWS = (
    "SELECT body, turn_id FROM chat_messages WHERE author = 'user' ORDER BY conversation_id, seq"
)
_UNCERTAIN = "SELECT coalesce(sum(uncertain), 0)::int AS n FROM delivery_chunks"
_NOT_SENT = "SELECT count(*) AS n FROM deliveries WHERE state NOT IN ('sent', 'pending', 'sending')"


class Seen(NamedTuple):
    """One message that people of a chat see, by the drill's number of the chat."""

    chat: int
    text: str


class Stage(Protocol):
    """One fake platform of a drill; what it shows only grows."""

    @property
    def name(self) -> str:
        """The recipe's name."""

    @property
    def account(self) -> str:
        """What config.yaml says of the account, as `type: x, key: value`, in one line."""

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the account names."""

    @property
    def orderly(self) -> bool:
        """Whether what a chat wrote first is always brought first."""

    def write(self, chat: int, word: str, *, twice: bool) -> None:
        """Let a person of a chat, from 0, write one word; `twice`: it is brought again, later."""

    def refuse(self) -> None:
        """Refuse the next send with a second to wait."""

    def break_off(self, plan: platform.Plan) -> None:
        """Let the next send break off, before or after it was taken."""

    @property
    def waiting(self) -> bool:
        """Whether there is something that nobody has taken."""

    @property
    def shown(self) -> Sequence[Seen]:
        """What people see, in order."""

    @property
    def sends(self) -> int:
        """How often something was sent."""

    @property
    def faults(self) -> Sequence[str]:
        """What was sent that the platform does not take."""


@dataclass
class _Told:
    """What people wrote: the words of each chat, in order."""

    words: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def all(self) -> list[str]:
        return [word for words in self.words.values() for word in words]


def run(
    plan: Plan, progress: Progress, stage: Stage, listens: Callable[[], bool] = lambda: True
) -> Result:
    """Let people write, kill meanwhile, and look at what they see in the end.

    `listens` says of a platform with lines whether one is up: what listens is killed only then.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    with World(_options(plan, stage)) as world:
        crew, told = Crew(world, rng), _Told()
        crew.start()
        writer = threading.Thread(target=_write, args=(stage, told, rng), daemon=True)
        writer.start()
        killed = _Killing(world, crew, rng, listens).until_answered(stage, told, progress)
        crew.stop()
        faults = list(_faults(world, stage, told))
        uncertain = world.records.rows(_UNCERTAIN)[0]["n"]
    shown = Counter(_WORD.findall(" ".join(one.text for one in stage.shown)))
    figures = {
        "messages": len(told.all),
        "kills_of_channels": killed,
        "kills_of_workers": crew.kills.aimed,
        "sends": stage.sends,
        "shown_again": sum(count - 1 for count in shown.values()),
        "uncertain": uncertain,
        "unexpected_ends": crew.kills.unexpected,
        "faults": faults[:20],
    }
    ok = not faults and not crew.kills.unexpected and killed > 0
    return Result(stage.name, ok, figures)


def _options(plan: Plan, stage: Stage) -> Options:
    return Options(
        workers=2,
        turns=16,
        forked=True,
        channels=_CONFIG.format(account=stage.account),
        variables=stage.variables,
        keep=plan.keep,
    )


def _write(stage: Stage, told: _Told, rng: random.Random) -> None:
    for number in range(_MESSAGES):
        chat, word = rng.randrange(_CHATS), f"wd{number}x"
        told.words[chat].append(word)
        stage.write(chat, word, twice=rng.random() < _TWICE)
        if rng.random() < _REFUSED:
            stage.refuse()
        if rng.random() < _BROKEN:
            stage.break_off(rng.choice([platform.DROP_AFTER, platform.DROP_BEFORE]))
        time.sleep(rng.uniform(0.02, 0.2))


@dataclass(frozen=True)
class _Killing:
    """Kills one or the other again and again while people write, then lets all of it end."""

    world: World
    crew: Crew
    rng: random.Random
    listens: Callable[[], bool]

    def until_answered(self, stage: Stage, told: _Told, progress: Progress) -> int:
        """Return how often what listens was killed."""
        world, killed = self.world, 0
        until = time.monotonic() + _PATIENCE_SECONDS
        last = until + _WRITING_SECONDS
        listener = world.start_channels()
        while time.monotonic() < until:
            time.sleep(self.rng.uniform(0.5, 1.5) * _KILL_SECONDS)
            if not self.listens():
                continue
            progress.say(f"{len(told.all)} written, {len(stage.shown)} shown, {killed} kills")
            if len(told.all) < _MESSAGES:
                listener.kill()
                killed += 1
                listener = world.start_channels()
                self.crew.kill(self.rng.choice(["worker-1", "worker-2"]))
                # On a slow machine people write for minutes: what they wrote has its time after.
                until = min(last, time.monotonic() + _PATIENCE_SECONDS)
            elif not stage.waiting and not world.records.open_jobs() and self._all_stored(told):
                break
        listener.kill()
        return killed

    def _all_stored(self, told: _Told) -> bool:
        return {row["body"] for row in self.world.records.rows(_ROWS)}.issuperset(told.all)


def _faults(world: World, stage: Stage, told: _Told) -> Iterator[str]:
    """Yield what is wrong with what is stored and with what people see."""
    yield from stage.faults
    rows = [row["body"] for row in world.records.rows(_ROWS)]
    stored = Counter(rows)
    yield from (f"{word} is stored {stored[word]} times" for word in told.all if stored[word] != 1)
    if world.records.open_jobs():
        yield "jobs are left"
    if world.records.rows(_NOT_SENT)[0]["n"]:
        yield "answers were given up"
    for chat, words in told.words.items():
        brought = [word for word in rows if word in words]
        if stage.orderly and brought != words:
            yield f"{chat} is stored in another order than it was written"
        yield from _of_chat(stage, chat, brought)
    again = Counter(stage.shown)
    repeats = sum(count - 1 for count in again.values())
    uncertain = world.records.rows(_UNCERTAIN)[0]["n"]
    if repeats > uncertain:
        yield f"{repeats} answers are shown again, {uncertain} were counted as uncertain"


def _of_chat(stage: Stage, chat: int, words: Sequence[str]) -> Iterator[str]:
    texts = [one.text for one in stage.shown if one.chat == chat]
    seen = list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))
    if missing := set(words) - set(seen):
        yield f"{chat} has no answer to {sorted(missing)}"
    if seen != [word for word in words if word in seen]:
        yield f"{chat} sees answers in another order"
