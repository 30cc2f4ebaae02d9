"""A bot at Discord whose people write while what listens and what answers is killed.

Half of them write in channels of a server, half directly. The gateway tells some messages twice and
those of two channels in the other order, and cuts its lines or forgets its sessions now and then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from scripts.drills import people
from scripts.drills.people import Seen
from scripts.drills.report import Plan, Result
from scripts.harness.progress import Progress
from tests.fakes import platform
from tests.fakes.discord_rooms import BOT, GUILD, Room
from tests.fakes.discord_server import TOKEN, DiscordServer

_FIRST_CHAT = 500
_FIRST_SECONDS = 60.0
# After how many messages something happens to the gateway's lines.
_PAUSE_SECONDS = 0.2
_GREETING_SECONDS, _MOST_GREETINGS = 5.0, 30
_DISORDER, _CUT, _FORGOTTEN = 5, 17, 41


def run(plan: Plan, progress: Progress) -> Result:
    """Run the drill at Discord."""
    with DiscordServer() as server:
        return people.run(plan, progress, _Discord(server), lambda: server.gateway.lines > 0)


class _Discord:
    name = "discord"
    orderly = True

    def __init__(self, server: DiscordServer) -> None:
        self._server = server
        self._written = 0
        self._met: set[str] = set()

    @property
    def account(self) -> str:
        server = self._server
        urls = f'api_url: "{server.url}", gateway_url: "{server.gateway.url}"'
        return f"type: discord, token_env: DRILL_BOT, {urls}"

    @property
    def variables(self) -> Mapping[str, str]:
        return {"DRILL_BOT": TOKEN}

    def write(self, chat: int, word: str, *, twice: bool) -> None:
        if not self._written:
            # What is written in a server before the bot was there for the first time is not read.
            self._server.wait(lambda: self._server.gateway.identified > 0, _FIRST_SECONDS)
        self._written += 1
        # What listens needs some seconds to begin, and is to be killed many times.
        time.sleep(_PAUSE_SECONDS)
        gateway, number = self._server.gateway, str(_FIRST_CHAT + chat)
        if not self._written % _DISORDER:
            gateway.swap()
        if chat % 2:
            self._mention(number, word)
        else:
            self._tell(number, word)
        if twice:
            gateway.repeat(2)
        if not self._written % _CUT:
            gateway.drop_all()
        if not self._written % _FORGOTTEN:
            gateway.forget()

    def _mention(self, number: str, word: str) -> None:
        self._server.rooms.setdefault(number, Room(number, GUILD, name=f"room-{number}"))
        self._server.says(f"<@{BOT['id']}> {word}", number, number, mentions=[BOT])

    def _tell(self, number: str, word: str) -> None:
        if number not in self._met:
            self._meet(number)
        self._server.says(word, number, number)

    def _meet(self, number: str) -> None:
        """Greet until it is heard: Discord gives a bot no list of those who wrote to it alone."""
        self._met.add(number)
        for count in range(_MOST_GREETINGS):
            self._server.says(f"hello {count}", number, number)
            with suppress(AssertionError):
                self._server.wait(lambda: self._answered(number), _GREETING_SECONDS)
                return

    def _answered(self, number: str) -> bool:
        return any(one.chat == number for one in self._server.posts)

    def refuse(self) -> None:
        self._server.plans.append(platform.refuse(429, retry_after="1"))

    def break_off(self, plan: platform.Plan) -> None:
        self._server.plans.append(plan)

    @property
    def waiting(self) -> bool:
        # What was told while nobody listened is read by who listens next.
        return not self._server.gateway.lines

    @property
    def shown(self) -> Sequence[Seen]:
        return [Seen(int(one.chat) - _FIRST_CHAT, one.text) for one in list(self._server.shown)]

    @property
    def sends(self) -> int:
        return len(self._server.posts)

    @property
    def faults(self) -> Sequence[str]:
        return self._server.faults
