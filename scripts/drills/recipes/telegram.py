"""A bot whose people write while what listens and what answers is killed.

Updates come twice, sends are refused with a time to wait or broken off in the middle, and the
process that listens is killed as often as the workers. Each message is answered, once but for what
was counted as uncertain, and in the order of its chat.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scripts.drills.crew import Crew
from scripts.drills.report import Plan, Result
from scripts.drills.world import Options, World
from scripts.harness.progress import Progress
from tests.fakes.platform import DROP_AFTER, DROP_BEFORE
from tests.fakes.telegram_server import TOKEN, Refusal, TelegramServer

_MESSAGES, _CHATS = 200, 10
_CONFIG = """
gateway: {{burst_window: "300ms"}}
channels:
  bot: {{type: telegram, token_env: DRILL_BOT, api_url: "{url}", allow_from: ["*"],
        messages_per_minute: null}}
"""
_WORD = re.compile(r"tg\d+x")
_KILL_SECONDS = 1.5
_TWICE, _REFUSED, _BROKEN = 0.2, 0.05, 0.08
_PATIENCE_SECONDS = 240.0
_ROWS = (
    "SELECT body, turn_id FROM chat_messages WHERE author = 'user' ORDER BY conversation_id, seq"
)
_UNCERTAIN = "SELECT coalesce(sum(uncertain), 0)::int AS n FROM delivery_chunks"
_NOT_SENT = "SELECT count(*) AS n FROM deliveries WHERE state NOT IN ('sent', 'pending', 'sending')"


@dataclass
class _Told:
    """What people wrote: the words of each chat, in order."""

    words: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def all(self) -> list[str]:
        return [word for words in self.words.values() for word in words]


def run(plan: Plan, progress: Progress) -> Result:
    """Let people write, kill meanwhile, and look at what they see in the end."""
    rng = random.Random(plan.seed)  # noqa: S311 - a drill, no secret
    with TelegramServer() as telegram, World(_options(plan, telegram)) as world:
        crew, told = Crew(world, rng), _Told()
        crew.start()
        writer = threading.Thread(target=_write, args=(telegram, told, rng), daemon=True)
        writer.start()
        killed = _kill_until_answered(world, crew, telegram, told, rng, progress)
        crew.stop()
        faults = list(_faults(world, telegram, told))
        uncertain = world.records.rows(_UNCERTAIN)[0]["n"]
    shown = Counter(_WORD.findall(" ".join(one.text for one in telegram.shown)))
    figures = {
        "messages": len(told.all),
        "kills_of_channels": killed,
        "kills_of_workers": crew.kills.aimed,
        "sends": len(telegram.posts),
        "shown_again": sum(count - 1 for count in shown.values()),
        "uncertain": uncertain,
        "unexpected_ends": crew.kills.unexpected,
        "faults": faults[:20],
    }
    ok = not faults and not crew.kills.unexpected and killed > 0
    return Result("telegram", ok, figures)


def _options(plan: Plan, telegram: TelegramServer) -> Options:
    return Options(
        workers=2,
        turns=16,
        forked=True,
        channels=_CONFIG.format(url=telegram.url),
        variables={"DRILL_BOT": TOKEN},
        keep=plan.keep,
    )


def _write(telegram: TelegramServer, told: _Told, rng: random.Random) -> None:
    for number in range(_MESSAGES):
        chat = 500 + rng.randrange(_CHATS)
        word = f"tg{number}x"
        told.words[chat].append(word)
        person = {"id": chat, "is_bot": False, "first_name": f"P{chat}"}
        where = {"id": chat, "type": "private", "first_name": f"P{chat}"}
        message = {"message_id": number + 1, "from": person, "chat": where, "text": word}
        update = telegram.happens(message=message | {"date": int(time.time())})
        if rng.random() < _TWICE:
            telegram.happens(update, message=message | {"date": int(time.time())})
        if rng.random() < _REFUSED:
            wait = Refusal(429, "Too Many Requests: retry after 1", {"retry_after": 1})
            telegram.refusals["sendMessage"].append(wait)
        if rng.random() < _BROKEN:
            telegram.plans.append(rng.choice([DROP_AFTER, DROP_BEFORE]))
        time.sleep(rng.uniform(0.02, 0.2))


def _kill_until_answered(
    world: World,
    crew: Crew,
    telegram: TelegramServer,
    told: _Told,
    rng: random.Random,
    progress: Progress,
) -> int:
    """Kill one or the other again and again while people write, then let all of it end."""
    killed = 0
    until = time.monotonic() + _PATIENCE_SECONDS
    listener = world.start_channels()
    while time.monotonic() < until:
        time.sleep(rng.uniform(0.5, 1.5) * _KILL_SECONDS)
        progress.say(f"{len(told.all)} written, {len(telegram.shown)} shown, {killed} kills")
        if len(told.all) < _MESSAGES:
            listener.kill()
            killed += 1
            listener = world.start_channels()
            crew.kill(rng.choice(["worker-1", "worker-2"]))
        elif not telegram.waiting and not world.records.open_jobs() and _all_stored(world, told):
            break
    listener.kill()
    return killed


def _all_stored(world: World, told: _Told) -> bool:
    return len(world.records.rows(_ROWS)) >= len(told.all)


def _faults(world: World, telegram: TelegramServer, told: _Told) -> Iterator[str]:
    """Yield what is wrong with what is stored and with what people see."""
    yield from telegram.faults
    stored = Counter(row["body"] for row in world.records.rows(_ROWS))
    yield from (f"{word} is stored {stored[word]} times" for word in told.all if stored[word] != 1)
    if world.records.open_jobs():
        yield "jobs are left"
    if world.records.rows(_NOT_SENT)[0]["n"]:
        yield "answers were given up"
    for chat, words in told.words.items():
        yield from _of_chat(telegram, chat, words)
    again = Counter((one.chat, one.text) for one in telegram.shown)
    repeats = sum(count - 1 for count in again.values())
    uncertain = world.records.rows(_UNCERTAIN)[0]["n"]
    if repeats > uncertain:
        yield f"{repeats} answers are shown again, {uncertain} were counted as uncertain"


def _of_chat(telegram: TelegramServer, chat: int, words: Sequence[str]) -> Iterator[str]:
    texts = [one.text for one in telegram.shown if one.chat == str(chat)]
    seen = list(dict.fromkeys(word for text in texts for word in _WORD.findall(text)))
    if missing := set(words) - set(seen):
        yield f"{chat} has no answer to {sorted(missing)}"
    if seen != [word for word in words if word in seen]:
        yield f"{chat} sees answers in another order"
