"""A bot at Telegram whose people write while what listens and what answers is killed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.drills import people
from scripts.drills.people import Seen
from scripts.drills.report import Plan, Result
from scripts.harness.progress import Progress
from tests.fakes import platform
from tests.fakes.telegram_server import TOKEN, Refusal, TelegramServer

_FIRST_CHAT = 500


def run(plan: Plan, progress: Progress) -> Result:
    """Run the drill at Telegram."""
    with TelegramServer() as server:
        return people.run(plan, progress, _Telegram(server))


class _Telegram:
    name = "telegram"
    orderly = True

    def __init__(self, server: TelegramServer) -> None:
        self._server = server
        self._written = 0

    @property
    def account(self) -> str:
        return f'type: telegram, token_env: DRILL_BOT, api_url: "{self._server.url}"'

    @property
    def variables(self) -> Mapping[str, str]:
        return {"DRILL_BOT": TOKEN}

    def write(self, chat: int, word: str, *, twice: bool) -> None:
        self._written += 1
        number = _FIRST_CHAT + chat
        message: dict[str, Any] = {
            "message_id": self._written,
            "from": {"id": number, "is_bot": False, "first_name": f"P{number}"},
            "chat": {"id": number, "type": "private", "first_name": f"P{number}"},
            "text": word,
            "date": int(time.time()),
        }
        update = self._server.happens(message=message)
        if twice:
            self._server.happens(update, message=message)

    def refuse(self) -> None:
        wait = Refusal(429, "Too Many Requests: retry after 1", {"retry_after": 1})
        self._server.refusals["sendMessage"].append(wait)

    def break_off(self, plan: platform.Plan) -> None:
        self._server.plans.append(plan)

    @property
    def waiting(self) -> bool:
        return bool(self._server.waiting)

    @property
    def shown(self) -> Sequence[Seen]:
        return [Seen(int(one.chat) - _FIRST_CHAT, one.text) for one in list(self._server.shown)]

    @property
    def sends(self) -> int:
        return len(self._server.posts)

    @property
    def faults(self) -> Sequence[str]:
        return self._server.faults
