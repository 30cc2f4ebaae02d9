"""Background processes of a world, asked for over the chat API and seen from outside."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from habakkuk.processes.log import log_folder, read_log
from scripts.drills.asks import Ask, Surface
from scripts.drills.clients import post_chat
from scripts.drills.world import World

_ROW = "SELECT id, state, code, notified, keeper FROM processes WHERE command LIKE %s"
# By what they say: one that came again under another id would be another.
_NOTICES = "SELECT body, turn_id FROM chat_messages WHERE kind = 'event' AND body LIKE %s"
_TURNS = """
    SELECT t.id, t.outcome FROM turns t JOIN chat_messages m ON m.turn_id = t.id
    WHERE m.kind = 'event' AND m.body LIKE %s
"""
_ANSWERS = """
    SELECT a.body FROM chat_messages a JOIN chat_messages q ON q.turn_id = a.turn_id
    WHERE q.body = %s AND a.author = 'agent'
"""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Background:
    """One command, known by a name that stands in it."""

    world: World
    name: str

    @property
    def workspace(self) -> Path:
        return self.world.home / "agents" / "habakkuk" / "workspace"

    def start(self, command: str) -> str:
        """Ask for the command; return the message, which is answered when it runs."""
        arguments = {"command": f": {self.name}; {command}", "background": True, "notify": True}
        return self.ask("exec", arguments)

    def ask(self, tool: str, arguments: dict[str, Any]) -> str:
        text = f"{self.name} {tool} [[tool {tool} {json.dumps(arguments)}]]"
        name = f"{self.name}-{next(_numbers)}"
        post_chat(self.world.api, Ask(name, Surface.CHAT, text, (), self.name))
        return text

    def answer(self, text: str) -> str:
        """Wait for the answer to a message."""
        self.world.await_true(lambda: bool(self._answers(text)), "the answer")
        return str(self._answers(text)[0]["body"])

    def _answers(self, text: str) -> list[dict[str, Any]]:
        return self.world.records.rows(_ANSWERS, text)

    def rows(self) -> list[dict[str, Any]]:
        return self.world.records.rows(_ROW, f"%: {self.name};%")

    def row(self) -> dict[str, Any]:
        (row,) = self.rows()
        return row

    def await_state(self, *states: str) -> dict[str, Any]:
        self.world.await_true(partial(self._is_in, states), f"{self.name} in {states}")
        return self.row()

    def _is_in(self, states: tuple[str, ...]) -> bool:
        return any(row["state"] in states for row in self.rows())

    def printed(self) -> bytes:
        return read_log(log_folder(self.world.home), self.row()["id"], 0, 1 << 30).data

    def await_printed(self, text: bytes) -> bytes:
        self.world.await_true(lambda: text in self.printed(), f"{text!r} of {self.name}")
        return self.printed()

    def told_once(self) -> str:
        """Wait until its end was told and answered; return what was told, once."""
        self.world.await_true(lambda: self.row()["notified"] is not None, "the notice")
        said = f"Background process {self.row()['id']} %"
        (notice,) = self.world.records.rows(_NOTICES, said)
        self.world.await_true(
            lambda: self.world.records.rows(_TURNS, said)[0]["outcome"] == "answered",
            "the answer to the notice",
        )
        assert len(self.world.records.rows(_TURNS, said)) == 1
        return str(notice["body"])
