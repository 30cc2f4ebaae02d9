"""An app at Slack whose people write while what listens and what answers is killed.

Half of them write in direct messages, half in threads of channels, where each mention comes as two
events. Slack brings again what nobody acknowledged, later ones before earlier ones at times.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from scripts.drills import people
from scripts.drills.people import Seen
from scripts.drills.report import Plan, Result
from scripts.harness.progress import Progress
from tests.fakes import platform
from tests.fakes.slack_server import APP_TOKEN, BOT, BOT_TOKEN, Refusal, SlackServer

# The last comes when nobody is killed any more, as Slack's own does after five minutes.
_RETRIES = (0.3, 5.0, 40.0)
_DIRECT = 5
_LATE, _LATE_SECONDS = 0.2, 0.4


def run(plan: Plan, progress: Progress) -> Result:
    """Run the drill at Slack."""
    with SlackServer(_RETRIES) as server:
        stage = _Slack(server, plan.seed)
        return people.run(plan, progress, stage, lambda: bool(server.socket.lines))


class _Slack:
    name = "slack"
    orderly = False

    def __init__(self, server: SlackServer, seed: int) -> None:
        self._server = server
        self._rng = random.Random(seed)  # noqa: S311 - a drill, no secret
        self._roots: dict[int, str] = {}

    @property
    def account(self) -> str:
        return (
            "type: slack, bot_token_env: DRILL_BOT, app_token_env: DRILL_APP,"
            f' api_url: "{self._server.url}"'
        )

    @property
    def variables(self) -> Mapping[str, str]:
        return {"DRILL_BOT": BOT_TOKEN, "DRILL_APP": APP_TOKEN}

    def write(self, chat: int, word: str, *, twice: bool) -> None:
        late = _LATE_SECONDS if self._rng.random() < _LATE else 0.0
        if chat < _DIRECT:
            message = self._server.writes(word, f"D{chat}", f"U{chat}")
        else:
            root = self._roots.setdefault(chat, self._server.ts())
            said = f"<@{BOT}> {word}"
            message = self._server.writes(said, f"C{chat}", f"U{chat}", thread_ts=root)
            self._server.happens(message | {"type": "app_mention"}, late)
        self._server.happens(message, late)
        if twice:
            self._server.happens(message, late + _LATE_SECONDS)

    def refuse(self) -> None:
        wait = Refusal("ratelimited", 429, headers={"retry-after": "1"})
        self._server.refusals["chat.postMessage"].append(wait)

    def break_off(self, plan: platform.Plan) -> None:
        self._server.plans.append(plan)

    @property
    def waiting(self) -> bool:
        return bool(self._server.socket.pending)

    @property
    def shown(self) -> Sequence[Seen]:
        return [Seen(int(one.chat[1:]), one.text) for one in list(self._server.shown)]

    @property
    def sends(self) -> int:
        return len(self._server.posts)

    @property
    def faults(self) -> Sequence[str]:
        lost = [f"Slack gave up on {one}" for one in self._server.socket.lost]
        return [*self._server.faults, *lost]
