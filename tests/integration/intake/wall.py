"""What stands on a platform while a turn is under way."""

from __future__ import annotations

import threading
from typing import Any

from habakkuk.channels.contract import NotSent
from habakkuk.channels.messages import Reaction

# Turns that show what they do, the first one's answer, and one that does not end.
LONG = '[[tool look {"seconds": 1.2}]] ' * 3 + "[[next]] [[tool look {}]] work"
ANSWER = "results: " + " | ".join(["all is well"] * 4)
ENDLESS = '[[tool look {"seconds": 20}]] work'


class Wall:
    """The messages of progress that stand on the platform, and all that happened to them."""

    def __init__(self) -> None:
        self.standing: dict[str, str] = {}
        self.happened: list[tuple[str, str]] = []
        self.refusals: list[NotSent] = []
        self.removals: list[NotSent] = []
        self.reactions: list[Reaction | None] = []
        self._lock = threading.Lock()

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:
        assert (chat, thread) == ("room", "")
        with self._lock:
            made = f"d{len(self.happened)}"
            self.standing[made] = text
            self.happened.append(("draft", text))
        return made

    def redraft(self, chat: str, draft: str, text: str) -> None:
        with self._lock:
            self.happened.append(("redraft", text))
            if self.refusals:
                raise self.refusals.pop(0)
            if draft in self.standing:
                self.standing[draft] = text

    def undraft(self, chat: str, draft: str) -> None:
        with self._lock:
            self.happened.append(("undraft", ""))
            if self.removals:
                raise self.removals.pop(0)
            self.standing.pop(draft, None)

    def react(self, chat: str, message: str, now: Reaction | None, before: Any) -> None:
        self.reactions.append(now)

    def did(self, what: str) -> int:
        return sum(name == what for name, _ in list(self.happened))
