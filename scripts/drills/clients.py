"""Clients of the three ways in. Each keeps asking until it has its answer, as real ones do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from scripts.drills.asks import Ask, Surface
from scripts.harness.http import Answer, Api, Cut

INTERRUPTED_LINE = "[interrupted, answering again]"
_ACCEPTED = 202
_OK = 200
_PAUSE_SECONDS = 0.1
_WAIT_SECONDS = 20
_RETRIED = (429, 502, 503, 504)


class Patience:
    """How long a client goes on; shared, so that a drill can extend it."""

    def __init__(self, seconds: float) -> None:
        """Count from each ask's first try."""
        self.seconds = seconds

    def begin(self) -> Callable[[], bool]:
        """Return a test that says whether to go on."""
        until = time.monotonic() + self.seconds
        return lambda: time.monotonic() < until


def carry_out(api: Api, ask: Ask, patience: Patience) -> None:
    """Ask and keep asking until the answer is there, or patience is at its end."""
    go_on = patience.begin()
    attempt = {Surface.CHAT: _chat, Surface.WHOLE: _whole, Surface.STREAM: _stream}[ask.surface]
    while not attempt(api, ask):
        if not go_on():
            ask.problem = ask.problem or "no answer within the client's patience"
            return
        time.sleep(_PAUSE_SECONDS)
    ask.problem = ""


def post_chat(api: Api, ask: Ask) -> Answer | None:
    """Send one chat message; None when the connection was cut. Notes what was accepted."""
    body = {"conversation": ask.conversation, "text": ask.text, "id": ask.id}
    body |= {"agent": ask.agent} if ask.agent else {}
    ask.tries += 1
    try:
        answer = api.post("/api/chat", body)
    except Cut as cut:
        ask.problem = f"cut: {cut}"
        return None
    if answer.status == _ACCEPTED:
        ask.accepted = answer.seconds
        ask.turn = answer.body["turn"]
        ask.session = answer.body["session"]
    else:
        ask.problem = f"HTTP {answer.status}: {answer.body}"
    return answer


def _chat(api: Api, ask: Ask) -> bool:
    """Post the message until it is accepted, then wait for the turn's end."""
    if ask.accepted is None:
        post_chat(api, ask)
        if ask.accepted is None:
            return False
    try:
        answer = api.get(f"/api/turns/{ask.turn}?wait={_WAIT_SECONDS}", _WAIT_SECONDS + 10.0)
    except Cut as cut:
        ask.problem = f"cut: {cut}"
        return False
    if answer.status != _OK:
        ask.problem = f"HTTP {answer.status} for the turn: {answer.body}"
        return False
    reply = answer.body.get("reply")
    if answer.body.get("ended") is None or reply is None:
        return False
    ask.answers.append(str(reply["text"]))
    return True


def _headers(ask: Ask) -> dict[str, str]:
    return {"idempotency-key": ask.id}


def _body(ask: Ask, *, stream: bool) -> dict[str, Any]:
    messages = [{"role": "user", "content": ask.text}]
    return {"model": "habakkuk/habakkuk", "messages": messages, "stream": stream}


def _whole(api: Api, ask: Ask) -> bool:
    ask.tries += 1
    try:
        body = _body(ask, stream=False)
        answer = api.post("/v1/chat/completions", body, _headers(ask), timeout=60)
    except Cut as cut:
        ask.problem = f"cut: {cut}"
        return False
    ask.session = answer.headers.get("x-habakkuk-session", ask.session)
    if answer.status != _OK:
        ask.problem = f"HTTP {answer.status}: {answer.body}"
        return answer.status not in _RETRIED
    ask.answers.append(answer.body["choices"][0]["message"]["content"])
    return True


def _stream(api: Api, ask: Ask) -> bool:
    ask.tries += 1
    try:
        body = _body(ask, stream=True)
        stream = api.stream("/v1/chat/completions", body, _headers(ask), timeout=60)
        ask.session = stream.headers.get("x-habakkuk-session", ask.session)
        if stream.status != _OK:
            ask.problem = f"HTTP {stream.status}: {stream.body()}"
            return stream.status not in _RETRIED
        whole, text = _read(stream.data())
    except Cut as cut:
        ask.problem = f"cut: {cut}"
        return False
    if not whole:
        ask.problem = "the stream ended without [DONE]"
        return False
    ask.seen = text
    ask.answers.append(text.rpartition(INTERRUPTED_LINE)[2].strip())
    return True


def _read(lines: Any) -> tuple[bool, str]:
    """Return whether a stream came to its end, and its text."""
    pieces: list[str] = []
    for line in lines:
        if line == "[DONE]":
            return True, "".join(pieces)
        event = json.loads(line)
        if "error" in event:
            return True, f"error: {event['error']}"
        deltas = [choice.get("delta", {}) for choice in event.get("choices", [])]
        pieces.extend(delta.get("content") or "" for delta in deltas)
    return False, "".join(pieces)
