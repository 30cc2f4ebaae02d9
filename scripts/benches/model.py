"""A cheap fake model: OpenAI's streamed chat completions from ready bytes, in one thread.

`python -m scripts.benches.model PORT`. It reads no JSON: what it does stands in the model's name.
GET /control tells what came and what is open, and begins anew; tests/fakes/model_server.py is the
careful one.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

# Stands in every piece of text, and in nothing else of a stream.
MARK = "zulu"
TOKENS = 8
_MODEL = re.compile(rb'"model":\s*"([a-z0-9]+)"')
_ROLE = re.compile(rb'"role":\s*"(user|tool)"')
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_LISTEN_BACKLOG = 2048


@dataclass(frozen=True)
class Behaviour:
    """Seconds before the first piece and between two; how many; the tool that is called first."""

    delay: float = 0.0
    gap: float = 0.0
    tokens: int = TOKENS
    tool: tuple[str, str] | None = None


BEHAVIOURS: Mapping[str, Behaviour] = {
    "instant": Behaviour(),
    "slow": Behaviour(delay=0.5),
    # Longer than 256 sessions need to get here.
    "held": Behaviour(delay=4.0),
    # A stream that lasts until it is killed.
    "long": Behaviour(gap=0.02, tokens=500),
    "caller": Behaviour(tool=("list_dir", "{}")),
    "asker": Behaviour(tool=("write_file", '{"path": "note.txt", "content": "a note"}')),
}


def _chunk(delta: Mapping[str, object], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}
    return _framed(json.dumps(value))


def _framed(text: str) -> bytes:
    data = f"data: {text}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(data), data)


_USAGE = {"prompt_tokens": 30, "completion_tokens": TOKENS, "total_tokens": 30 + TOKENS}
_END = (
    _framed(json.dumps({"id": "c1", "choices": [], "usage": _USAGE}))
    + _framed("[DONE]")
    + b"0\r\n\r\n"
)
_TEXTS = [_chunk({"content": f"{MARK}{n} "}) for n in range(10)]
_STOP = _chunk({}, "stop") + _END


def _call(number: int, tool: tuple[str, str]) -> bytes:
    """Return the stream of one call; ids are never the same twice."""
    function = {"name": tool[0], "arguments": tool[1]}
    call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
    return _chunk({"tool_calls": [call]}) + _chunk({}, "tool_calls") + _END


@dataclass
class Seen:
    """What came since the last look; times are time.monotonic(), the same in every process."""

    arrivals: list[float] = field(default_factory=list)
    open: int = 0
    peak: int = 0
    peak_at: float = 0.0

    def begin(self) -> None:
        """Note a request."""
        now = time.monotonic()
        self.arrivals.append(now)
        self.open += 1
        if self.open > self.peak:
            self.peak, self.peak_at = self.open, now

    def take(self) -> dict[str, object]:
        """Return it all and begin anew; what is open stays open."""
        found = {
            "arrivals": self.arrivals,
            "open": self.open,
            "peak": self.peak,
            "peak_at": self.peak_at,
        }
        self.arrivals, self.peak = [], self.open
        return found


class Connection(asyncio.Protocol):
    """One kept connection: request after request, never two at once."""

    def __init__(self, seen: Seen) -> None:
        """Note requests in `seen`."""
        self._seen = seen
        self._data = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way back."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a TCP server gives no other
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop speaking."""
        del exc
        if self._timer is not None:
            self._timer.cancel()
        self._end()

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        self._data += data
        head = self._data.find(b"\r\n\r\n")
        if head < 0:
            return
        length = _LENGTH.search(self._data, 0, head)
        whole = head + 4 + (int(length[1]) if length else 0)
        if len(self._data) < whole:
            return
        request = bytes(self._data[:whole])
        del self._data[:whole]
        if request.startswith(b"POST"):
            self._answer(request, head)
        else:
            taken = self._seen.take() if b" /control" in request[:40] else {"data": []}
            self._json(taken)

    def _answer(self, request: bytes, head: int) -> None:
        self._busy = True
        self._seen.begin()
        model = _MODEL.search(request, head)
        behaviour = BEHAVIOURS[model[1].decode() if model else "instant"]
        pieces = self._pieces(behaviour, request)
        if behaviour.delay:
            self._later(behaviour.delay, behaviour, pieces, 0)
        else:
            self._send(behaviour, pieces, 0)

    def _pieces(self, behaviour: Behaviour, request: bytes) -> list[bytes]:
        if behaviour.tool is not None and _ROLE.findall(request)[-1:] == [b"user"]:
            return [_call(time.monotonic_ns(), behaviour.tool)]
        return [*(_TEXTS[n % 10] for n in range(behaviour.tokens)), _STOP]

    def _send(self, behaviour: Behaviour, pieces: list[bytes], number: int) -> None:
        """Write each piece by itself, as a model does, with the gap before the next."""
        self._timer = None
        if number == 0:
            pieces[0] = _HEAD + pieces[0]
        while number < len(pieces):
            self._transport.write(pieces[number])
            number += 1
            if behaviour.gap and number < len(pieces):
                self._later(behaviour.gap, behaviour, pieces, number)
                return
        self._end()

    def _later(
        self, seconds: float, behaviour: Behaviour, pieces: list[bytes], number: int
    ) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._send, behaviour, pieces, number)

    def _json(self, value: object) -> None:
        body = json.dumps(value).encode()
        head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        self._transport.write(head % len(body) + body)

    def _end(self) -> None:
        if self._busy:
            self._busy = False
            self._seen.open -= 1


async def serve(port: int) -> None:
    """Serve on a loopback port until killed."""
    seen = Seen()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Connection(seen), "127.0.0.1", port, backlog=_LISTEN_BACKLOG
    )
    gc.freeze()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1])))
