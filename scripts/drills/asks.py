"""What a client asks for, and the one right answer to it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum

from habakkuk.agent.repair import INTERRUPTED
from tests.fakes.model_script import parse


class Surface(StrEnum):
    """The way in."""

    CHAT = "chat"
    WHOLE = "whole"
    STREAM = "stream"
    WEBHOOK = "webhook"


@dataclass
class Ask:
    """One request with a turn of its own, and what its client saw.

    `agent` is `careful` where every effect is asked for. `tools` are (tool, mark) in the order of
    their results. `accepted` is how many seconds the acceptance took, `turn` is known to clients of
    the chat API and of webhooks only. `answers` are what the client took for its answer; `seen` is
    all the text of a stream, with what was interrupted; `faults` is what the client found wrong.
    """

    id: str
    surface: Surface
    text: str
    tools: tuple[tuple[str, str], ...] = ()
    conversation: str = ""
    agent: str | None = None
    account: str = ""
    accepted: float | None = None
    turn: str | None = None
    session: str | None = None
    tries: int = 0
    answers: list[str] = field(default_factory=list)
    seen: str = ""
    problem: str = ""
    faults: list[str] = field(default_factory=list)

    @property
    def marks(self) -> list[str]:
        """The marks of tools with an effect."""
        return [mark for tool, mark in self.tools if tool == "mark"]

    def said(self) -> str:
        """Return what the model repeats."""
        return parse(self.text)[0]

    def fault_of(self, answer: str) -> str | None:
        """Say what is wrong with an answer; None when it is right."""
        tail = "".join(f" token{i}" for i in range(self._tokens()))
        if not answer.endswith(tail):
            return f"does not end with the {self._tokens()} words asked for: {answer[-80:]!r}"
        body = answer.removesuffix(tail)
        if not self.tools:
            return None if body == f"echo: {self.said()}" else f"is another answer: {body[:80]!r}"
        results = body.removeprefix("results: ").split(" | ")
        if len(results) != len(self.tools):
            return f"has {len(results)} results of {len(self.tools)}: {body[:120]!r}"
        wrong = [
            got
            for got, (tool, mark) in zip(results, self.tools, strict=True)
            if got not in _results(tool, mark)
        ]
        return f"has a result of another call: {wrong[0][:80]!r}" if wrong else None

    def interrupted(self, answer: str) -> set[str]:
        """Return the marks whose call the answer reports as interrupted."""
        results = answer.removeprefix("results: ").split(" | ")
        pairs = zip(results, self.tools, strict=False)
        return {mark for got, (_, mark) in pairs if got.startswith(INTERRUPTED)}

    def _tokens(self) -> int:
        words = [d.rest for d in parse(self.text)[1] if d.word == "tokens"]
        return int(words[0]) if words else 0


_DONE = {"mark": "done", "peek": "seen", "pause": "waited"}


def _results(tool: str, mark: str) -> set[str]:
    right = {f"{_DONE[tool]} {mark}"}
    return right if tool in ("peek", "pause") else right | {INTERRUPTED}


class Writer:
    """Writes asks of every kind: mostly small talk, some with tools, some with several steps."""

    def __init__(self, rng: random.Random, name: str) -> None:
        """`name` makes the ids of this writer its own."""
        self._rng = rng
        self.name = name
        self._count = 0

    def next(self, surface: Surface, conversation: str = "", agent: str | None = None) -> Ask:
        """Return the next ask."""
        self._count += 1
        ask_id = f"{self.name}-{self._count}"
        tools: list[tuple[str, str]] = []
        directives = self._steps(ask_id, tools)
        tokens, delay = self._rng.randint(3, 15), self._rng.uniform(0.004, 0.03)
        text = f"{ask_id} says hello [[tokens {tokens}]] [[delay {delay:.3f}]] {directives}".strip()
        return Ask(ask_id, surface, text, tuple(tools), conversation, agent)

    def _steps(self, ask_id: str, tools: list[tuple[str, str]]) -> str:
        kind = self._rng.random()
        if kind < 0.5:  # noqa: PLR2004 - half of them
            return ""
        steps = self._rng.choice((1, 1, 2, 3))
        return " [[next]] ".join(self._step(ask_id, tools) for _ in range(steps))

    def _step(self, ask_id: str, tools: list[tuple[str, str]]) -> str:
        calls = []
        for _ in range(self._rng.choice((1, 1, 2, 3))):
            tool = self._rng.choice(("mark", "mark", "mark", "peek", "pause"))
            mark = f"{ask_id}.{len(tools) + 1}"
            tools.append((tool, mark))
            calls.append(f"[[tool {tool} {{{self._arguments(tool, mark)}}}]]")
        return " ".join(calls)

    def _arguments(self, tool: str, mark: str) -> str:
        if tool == "mark":
            before, after = self._rng.uniform(0, 0.06), self._rng.uniform(0, 0.06)
            return f'"mark": "{mark}", "before": {before:.3f}, "after": {after:.3f}'
        return f'"mark": "{mark}", "seconds": {self._rng.uniform(0.02, 0.2):.3f}'
