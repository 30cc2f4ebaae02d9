"""What a chunk costs: the official SDK's own iteration, and ours with the router, on one stream.

`python -m scripts.benches.chunks` prints the microseconds of CPU that the reading thread spends on
each of 2,000 pieces of text, in each wire format. The server only sends bytes made before.
"""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

import anthropic
import openai
from google import genai
from google.genai.types import HttpOptions

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Endpoint
from habakkuk.llm.registry import Registry
from habakkuk.llm.router import Router
from habakkuk.llm.types import LlmRequest, Message, ModelRef, Role, Text, TextDelta
from tests.fakes import model_gemini, model_messages, model_responses, model_script

PIECES = 2000
_ROUNDS = 7
# What the issue allows over the SDK's own iteration, in microseconds a chunk.
BAR = 50.0
_WORD = "word "
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_HEADERS_END = b"\r\n\r\n"
_HELLO = LlmRequest("Be brief.", (Message(Role.USER, (Text(text="hello"),)),))


def measure(pieces: int = PIECES, rounds: int = _ROUNDS) -> dict[str, dict[str, float]]:
    """Return for each format the microseconds a chunk: `sdk`, `ours`, and `over`, ours less sdk.

    Each is the median of the rounds, which take turns so that both meet the same machine.
    """
    found = {}
    for kind, (stream, read) in _FORMATS.items():
        with _serving(stream(pieces)) as url:
            sdk, ours = _medians((partial(read, url), partial(_ours, kind, url)), pieces, rounds)
        found[kind] = {"sdk": sdk, "ours": ours, "over": round(ours - sdk, 1)}
    return found


def _medians(ways: Sequence[Callable[[], int]], pieces: int, rounds: int) -> list[float]:
    times: list[list[float]] = [[] for _ in ways]
    for number in range(rounds + 1):
        for way, kept in zip(ways, times, strict=True):
            began = time.thread_time()
            count = way()
            spent = time.thread_time() - began
            if count != pieces:
                raise RuntimeError(f"{count} of {pieces} pieces were read")
            # The first round loads what is loaded once.
            if number:
                kept.append(spent / pieces * 1e6)
    return [round(statistics.median(kept), 1) for kept in times]


def _ours(kind: str, url: str) -> int:
    registry = Registry({"mine": Endpoint("mine", url, "key", type=kind)})
    try:
        events = Router(registry).stream([ModelRef("mine", "m")], _HELLO, Interrupt())
        return sum(isinstance(event, TextDelta) for event in events)
    finally:
        registry.close()


# The streams, and how the SDKs read them.


def _chat(pieces: int) -> list[bytes]:
    said = [model_script.chunk({"content": _WORD})] * pieces
    return [*said, model_script.chunk({}, "stop"), model_script.DONE]


def _read_chat(url: str) -> int:
    with openai.OpenAI(api_key="key", base_url=url, max_retries=0) as client:
        stream = client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hello"}], stream=True
        )
        return sum(bool(chunk.choices[0].delta.content) for chunk in stream)


def _messages(pieces: int) -> list[bytes]:
    said = [model_messages.delta(0, "text", text=_WORD)] * pieces
    begun = [model_messages.start(), model_messages.block(0, "text", text="")]
    return [*begun, *said, model_messages.stop(0), *model_messages.end()]


def _read_messages(url: str) -> int:
    base = url.removesuffix("/v1")
    with anthropic.Anthropic(api_key="key", base_url=base, max_retries=0) as client:
        stream = client.messages.create(
            model="m",
            max_tokens=9,
            messages=[{"role": "user", "content": "hello"}],
            stream=True,
        )
        return sum(event.type == "content_block_delta" for event in stream)


def _responses(pieces: int) -> list[bytes]:
    spoken = model_responses.spoken(*[_WORD] * pieces)
    return [*model_responses.start(), *spoken, *model_responses.end()]


def _read_responses(url: str) -> int:
    with openai.OpenAI(api_key="key", base_url=url, max_retries=0) as client:
        stream = client.responses.create(model="m", input="hello", stream=True)
        return sum(event.type == "response.output_text.delta" for event in stream)


def _gemini(pieces: int) -> list[bytes]:
    said = [model_gemini.chunk(model_gemini.text(_WORD))] * pieces
    return [*said, *model_gemini.end()]


def _read_gemini(url: str) -> int:
    options = HttpOptions(base_url=url.removesuffix("/v1"))
    with genai.Client(api_key="key", http_options=options) as client:
        stream = client.models.generate_content_stream(model="m", contents="hello")
        return sum(bool(chunk.text) for chunk in stream)


_FORMATS: dict[str, tuple[Callable[[int], list[bytes]], Callable[[str], int]]] = {
    "openai": (_chat, _read_chat),
    "anthropic": (_messages, _read_messages),
    "responses": (_responses, _read_responses),
    "gemini": (_gemini, _read_gemini),
}


# The server.


@contextmanager
def _serving(events: Sequence[bytes]) -> Iterator[str]:
    """Answer every request with these events, each an HTTP chunk; yields the base URL."""
    body = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in events) + b"0\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=_answer_all, args=(listening, _HEAD + body), daemon=True)
        serving.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        listening.shutdown(socket.SHUT_RDWR)
        serving.join()


def _answer_all(listening: socket.socket, answer: bytes) -> None:
    while True:
        try:
            accepted, _ = listening.accept()
        except OSError:
            return
        with accepted, suppress(OSError):
            _read_request(accepted)
            accepted.sendall(answer)


def _read_request(accepted: socket.socket) -> None:
    got = b""
    while _HEADERS_END not in got:
        got += accepted.recv(65_536)
    head, _, body = got.partition(_HEADERS_END)
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
    missing = int(lengths[0].partition(b":")[2]) - len(body) if lengths else 0
    while missing > 0:
        missing -= len(accepted.recv(65_536))


def main() -> None:
    """Print a row for each format."""
    print(f"{'format':12}{'sdk':>8}{'ours':>8}{'over':>8}   us a chunk; bar {BAR:g} over")
    for kind, row in measure().items():
        print(f"{kind:12}{row['sdk']:8.1f}{row['ours']:8.1f}{row['over']:8.1f}")


if __name__ == "__main__":
    main()
