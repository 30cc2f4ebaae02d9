"""A cheap load client: kept connections, ready requests, and no parsing beyond what is timed."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scripts.benches.model import MARK, TOKENS
from scripts.harness.figures import spread

_MARK = MARK.encode()
# After a piece: a header may end in a nought, too.
_END = b"\r\n0\r\n\r\n"
_DONE = b"[DONE]"
_OK = b"HTTP/1.1 200 "
_HEAD_END = b"\r\n\r\n"
# The longest that one turn of the bench may take under the heaviest load.
PATIENCE_SECONDS = 60.0
# Twenty words, as the budget has it.
PROMPT = (
    "Please tell me in a few words what you would do first if you had this whole day for yourself"
    " alone"
)


class TurnFailed(Exception):
    """An answer was not what it should be; the message has its beginning."""


@dataclass(frozen=True)
class Sample:
    """One turn: seconds to its first text and to its end, and when it ended."""

    first: float
    whole: float
    ended: float


@dataclass
class Run:
    """The turns of one measurement; `seconds` is the time in which those counted ended."""

    samples: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def per_second(self) -> float:
        """Turns a second."""
        return round(len(self.samples) / self.seconds, 1) if self.seconds else 0.0

    def first_ms(self, less: float = 0.0) -> dict[str, float | int]:
        """Return the spread of the time to the first text, less what the model takes alone."""
        return spread([1000 * sample.first - less for sample in self.samples])

    def whole_ms(self) -> dict[str, float | int]:
        """Return the spread of whole turns."""
        return spread([1000 * sample.whole for sample in self.samples])


@dataclass(frozen=True)
class Target:
    """Where turns are asked for, as whom, and from which model or agent."""

    port: int
    model: str
    token: str = ""

    def request(self, session: str = "") -> bytes:
        """Return a whole request for a streamed turn, in a session when one is named."""
        message = {"role": "user", "content": PROMPT}
        body = json.dumps({"model": self.model, "messages": [message], "stream": True}).encode()
        lines = [
            "POST /v1/chat/completions HTTP/1.1",
            f"host: 127.0.0.1:{self.port}",
            f"authorization: Bearer {self.token}",
            "content-type: application/json",
            f"content-length: {len(body)}",
        ]
        if session:
            lines.append(f"x-habakkuk-session: {session}")
        return "\r\n".join([*lines, "", ""]).encode() + body


class Connection(asyncio.Protocol):
    """One client: sends a request, notes when the first text and the end came."""

    def __init__(self) -> None:
        """Begin unconnected."""
        self._data = bytearray()
        self._first = 0.0
        self._answer: asyncio.Future[float] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way there."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP client gets no other
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Note what came."""
        self._data += data
        if not self._first and _MARK in self._data:
            self._first = time.monotonic()
        refused = not self._data.startswith(_OK) and _HEAD_END in self._data
        if refused or self._data.endswith(_END):
            for answer in self._awaited():
                answer.set_result(time.monotonic())

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the turn that waits."""
        for answer in self._awaited():
            answer.set_exception(TurnFailed(f"cut off: {exc or bytes(self._data[:300])!r}"))

    def _awaited(self) -> list[asyncio.Future[float]]:
        """Return the answer that is waited for, if one is."""
        answer = self._answer
        return [answer] if answer is not None and not answer.done() else []

    async def turn(self, request: bytes) -> Sample:
        """Ask once. Raises TurnFailed."""
        self._data.clear()
        self._first = 0.0
        self._answer = asyncio.get_running_loop().create_future()
        began = time.monotonic()
        self._transport.write(request)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                ended = await self._answer
        except TimeoutError:
            got = bytes(self._data[-600:])
            raise TurnFailed(f"no end after {PATIENCE_SECONDS:.0f} s: {got!r}") from None
        if fault := fault_of(bytes(self._data)):
            raise TurnFailed(fault)
        return Sample(self._first - began, ended - began, ended)

    def close(self) -> None:
        """Go away."""
        self._transport.close()


def fault_of(answer: bytes) -> str:
    """Return what is wrong with a whole answer; empty when it is right."""
    right = answer.startswith(_OK) and _DONE in answer and answer.count(_MARK) == TOKENS
    return "" if right else f"not the model's answer: {answer[:600]!r}"


@dataclass(frozen=True)
class Load:
    """How many clients ask at once, one turn after the other, and for how long.

    Either `seconds` after `ramp` seconds that do not count, or `turns` in all.
    """

    sessions: int
    seconds: float = 0.0
    ramp: float = 0.0
    turns: int = 0


Callback = Callable[[], None]


def _nothing() -> None:
    """Take no notice."""


class Clients:
    """The clients of one measurement."""

    def __init__(self, target: Target, load: Load, sessions: Sequence[str] = ()) -> None:
        """Ask `target`; in `sessions` by turns when there are some, else each turn in a new one."""
        self._target = target
        self._load = load
        self._requests = [target.request(name) for name in sessions or ("",)]
        self._begun = 0
        self._from = self._until = 0.0
        self.run = Run()

    def measure(self, began: Callback = _nothing, ended: Callback = _nothing) -> Run:
        """Carry the load out and return it.

        `began` and `ended` are called when it begins and ceases to count.
        """
        asyncio.run(self._measure(began, ended))
        return self.run

    async def _measure(self, began: Callback, ended: Callback) -> None:
        loop = asyncio.get_running_loop()
        make = (Connection, "127.0.0.1", self._target.port)
        made = [await loop.create_connection(*make) for _ in range(self._load.sessions)]
        start = time.monotonic()
        self._from = start + self._load.ramp
        self._until = self._from + self._load.seconds if self._load.seconds else float("inf")
        loop.call_later(self._load.ramp, began)
        if self._load.seconds:
            loop.call_later(self._load.ramp + self._load.seconds, ended)
        await asyncio.gather(*(self._client(connection) for _, connection in made))
        until = time.monotonic() if self._load.turns else self._until
        self.run.seconds = until - self._from
        for _, connection in made:
            connection.close()

    async def _client(self, connection: Connection) -> None:
        try:
            while self._more():
                request = self._requests[self._begun % len(self._requests)]
                self._begun += 1
                sample = await connection.turn(request)
                if self._from <= sample.ended <= self._until:
                    self.run.samples.append(sample)
        except TurnFailed as failure:
            self.run.failures.append(str(failure))

    def _more(self) -> bool:
        if self._load.turns:
            return self._begun < self._load.turns
        return time.monotonic() < self._until
