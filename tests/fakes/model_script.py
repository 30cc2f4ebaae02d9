"""What the fake model answers: decided from the transcript alone, so the same after a crash.

Directives stand anywhere in the last user message:

    [[tokens N]]            N more words after the echo, one delta each
    [[delay S]]             seconds before each delta
    [[wait S]]              seconds before the response headers
    [[tool NAME {json}]]    asks for this call; several in parallel; [[next]] starts another step
    [[think TEXT]]          reasoning before the answer
    [[stall]]               two deltas, then silence; [[stall headers]]: not even headers
    [[cut N]]               closes the socket after N deltas (3)
    [[status N k=v …]]      an HTTP error with these headers
    [[error-in-200 N]]      an error event after N deltas (1)
    [[json-error]]          HTTP 200 with a JSON error body and no events
    [[finish REASON]]       this finish_reason
    [[empty]]               no content at all

Without directives it answers `echo: <text>`, where <text> is the message without directives and
without a first line in square brackets (a time note). Asked to sum up a record it says so, whatever
stands in the record.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_NOTE = re.compile(r"\A\[(?!\[)[^\n]*\]\n+")
_STEP = re.compile(r"call_(\d+)_[0-9a-f]{8}_")
_WORD = re.compile(r"\S+\s*")


@dataclass(frozen=True)
class Delay:
    """Wait before the next part."""

    seconds: float


@dataclass(frozen=True)
class Stall:
    """Send nothing more until the client goes."""


@dataclass(frozen=True)
class Cut:
    """Close the socket, without an end."""


Part = bytes | Delay | Stall | Cut


@dataclass(frozen=True)
class Reply:
    """One HTTP answer, part by part. `framing`: chunked, or close (ends with the connection)."""

    parts: Iterable[Part]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)
    framing: str = "chunked"
    before: Sequence[Part] = ()


@dataclass(frozen=True)
class Directive:
    """One `[[word rest]]`; `data` is the JSON of a tool directive."""

    word: str
    rest: str = ""
    data: dict[str, Any] | None = None


def sse(data: Any) -> bytes:
    """Return one event with this JSON (or this text) as its data."""
    text = data if isinstance(data, str) else json.dumps(data)
    return f"data: {text}\n\n".encode()


DONE = sse("[DONE]")


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> bytes:
    """Return a stream chunk with this delta in the documented shape."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return sse({"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **more})


def usage_chunk(prompt: int, completion: int) -> bytes:
    """Return the last chunk, with usage and no choices."""
    usage = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    return sse({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage})


def parse(text: str) -> tuple[str, list[Directive]]:
    """Split a user text into what is said and the directives in it."""
    rest = _NOTE.sub("", text)
    said: list[str] = []
    found: list[Directive] = []
    while "[[" in rest:
        before, _, after = rest.partition("[[")
        directive, tail = _directive(after)
        said.append(before if directive else before + "[[")
        if directive:
            found.append(directive)
        rest = tail
    said.append(rest)
    return " ".join("".join(said).split(" ")).strip(), found


def _directive(text: str) -> tuple[Directive | None, str]:
    """Read one directive after its `[[`; None when it is not closed."""
    tool = re.match(r"tool\s+(\S+?)\s*(?=\{|\]\])", text)
    if tool:
        data: dict[str, Any] = {}
        end = tool.end()
        if text[end : end + 1] == "{":
            data, end = json.JSONDecoder().raw_decode(text, end)
        return Directive("tool", tool[1], data), text[end:].lstrip().removeprefix("]]")
    inside, closed, tail = text.partition("]]")
    if not closed:
        return None, text
    word, _, rest = inside.strip().partition(" ")
    return Directive(word, rest.strip()), tail


def text_of(content: Any) -> str:
    """Return the text of a message's content, a string or parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def last_user_text(messages: Sequence[dict[str, Any]]) -> str:
    """Return the text of the last user message, empty without one."""
    users = [m for m in messages if m.get("role") == "user"]
    return text_of(users[-1].get("content")) if users else ""


def sums_up(text: str) -> bool:
    """Tell whether a request is for a summary of a long session."""
    return text.rstrip().endswith("Write the summary of all of it now.")


def _asked(text: str) -> tuple[str, list[Directive]]:
    return ("a summary", []) if sums_up(text) else parse(text)


class Script:
    """The default behaviour for one request."""

    def __init__(self, body: dict[str, Any]) -> None:
        """Read the transcript of the request."""
        self._messages: list[dict[str, Any]] = list(body.get("messages") or [])
        self._said, self._directives = _asked(last_user_text(self._messages))
        self._stream = bool(body.get("stream"))
        last = max((i for i, m in enumerate(self._messages) if m.get("role") == "user"), default=-1)
        self._after = self._messages[last + 1 :]

    def reply(self) -> Reply:
        """Return the answer, whole or streamed as asked."""
        if status := self._get("status"):
            return self._refusal(status)
        if self._get("json-error"):
            return Reply([json.dumps(_ERROR).encode()], content_type="application/json")
        wait = self._get("wait")
        before: list[Part] = [Delay(float(wait.rest))] if wait else []
        stall = self._get("stall")
        if stall and stall.rest == "headers":
            before.append(Stall())
        if not self._stream:
            return Reply([self._whole()], content_type="application/json", before=before)
        return Reply(list(self._events()), before=before)

    def _get(self, word: str) -> Directive | None:
        return next((d for d in self._directives if d.word == word), None)

    def _number(self, word: str, default: int) -> int | None:
        directive = self._get(word)
        return int(directive.rest or default) if directive else None

    def _calls(self) -> list[dict[str, Any]]:
        """Return the calls of this step: one group of tool directives for each step done."""
        groups: list[list[Directive]] = [[]]
        for directive in self._directives:
            if directive.word == "next":
                groups.append([])
            elif directive.word == "tool":
                groups[-1].append(directive)
        step = self._steps()
        asked = groups[step] if step < len(groups) else []
        mark = zlib.crc32(last_user_text(self._messages).encode("utf-8", "replace"))
        return [
            {
                "index": i,
                "id": f"call_{step}_{mark:08x}_{i}",
                "type": "function",
                "function": {"name": d.rest, "arguments": json.dumps(d.data)},
            }
            for i, d in enumerate(asked)
        ]

    def _steps(self) -> int:
        """Return how many steps are done: their ids count them, since a summary takes some away."""
        steps = [m["tool_calls"] for m in self._after if m.get("tool_calls")]
        numbered = _STEP.match(steps[-1][0]["id"]) if steps else None
        return int(numbered[1]) + 1 if numbered else len(steps)

    def _pieces(self) -> list[str]:
        """Return the answer in deltas, at least three unless it is empty."""
        if self._get("empty"):
            return []
        results = [text_of(m.get("content")) for m in self._after if m.get("role") == "tool"]
        answer = f"results: {' | '.join(results)}" if results else f"echo: {self._said}"
        words = _WORD.findall(answer)
        while len(words) < 3:
            longest = max(range(len(words)), key=lambda i: len(words[i]))
            word = words[longest]
            words[longest : longest + 1] = [word[: len(word) // 2], word[len(word) // 2 :]]
        return words + [f" token{i}" for i in range(self._number("tokens", 0) or 0)]

    def _whole(self) -> bytes:
        calls = self._calls()
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._pieces()) or None}
        if calls:
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": self._finish(calls)}
        usage = {"prompt_tokens": self._prompt(), "completion_tokens": 1, "total_tokens": 1}
        return json.dumps(
            {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage}
        ).encode()

    def _finish(self, calls: Sequence[Any]) -> str:
        named = self._get("finish")
        return named.rest if named else ("tool_calls" if calls else "stop")

    def _prompt(self) -> int:
        return 1 + sum(len(text_of(m.get("content"))) for m in self._messages) // 4

    def _deltas(self, calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        if think := self._get("think"):
            yield {"reasoning_content": think.rest}
        if not calls:
            yield from ({"content": piece} for piece in self._pieces())
        for call in calls:
            arguments = call["function"]["arguments"]
            started = {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
            yield {"tool_calls": [started]}
            for piece in (arguments[: len(arguments) // 2], arguments[len(arguments) // 2 :]):
                yield {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}

    def _stop(self, count: int) -> tuple[int, Part] | None:
        """Return after how many deltas what else happens, None when the answer runs to its end."""
        if self._get("stall"):
            return min(2, count), Stall()
        if (cut := self._number("cut", 3)) is not None:
            return min(cut, count), Cut()
        if (fault := self._number("error-in-200", 1)) is not None:
            return min(fault, count), self._failure()
        return None

    def _events(self) -> Iterator[Part]:
        calls = self._calls()
        deltas = list(self._deltas(calls))
        stop = self._stop(len(deltas))
        delay = self._get("delay")
        yield from self._opening(calls)
        for delta in deltas[: stop[0] if stop else None]:
            if delay:
                yield Delay(float(delay.rest))
            yield from self._shown(delta)
        if stop:
            yield stop[1]
            return
        yield from self._closing(calls, len(deltas))

    # What is said is the same in every wire format; these say it in Chat Completions.

    def _opening(self, calls: Sequence[Any]) -> Iterator[Part]:
        yield chunk({"role": "assistant", "content": None if calls else ""})

    def _shown(self, delta: dict[str, Any]) -> Iterator[Part]:
        yield chunk(delta)

    def _closing(self, calls: Sequence[Any], count: int) -> Iterator[Part]:
        yield chunk({}, finish=self._finish(calls))
        yield usage_chunk(self._prompt(), count)
        yield DONE

    def _failure(self) -> Part:
        return sse(_ERROR)

    def _refusal(self, directive: Directive) -> Reply:
        code, *pairs = directive.rest.split()
        headers = dict(pair.split("=", 1) for pair in pairs)
        error = {"error": {"message": f"scripted {code}", "type": "scripted", "code": None}}
        return Reply(
            [json.dumps(error).encode()],
            status=int(code),
            content_type="application/json",
            headers=headers,
        )


_ERROR = {
    "error": {"message": "the engine is overloaded", "type": "overloaded_error", "code": None}
}
