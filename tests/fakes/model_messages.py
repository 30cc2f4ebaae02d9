"""The fake model in Anthropic's Messages format: it says the same for the same transcript.

Its thinking is signed over text and model; a block that comes back changed, or from another
model, is refused as the service does it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.fakes.model_script import Directive, Part, Reply, Script

_STOPS = {"stop": "end_turn", "tool_calls": "tool_use"}


def event(kind: str, **fields: Any) -> bytes:
    """Return one stream event in the documented shape."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def start(input_tokens: int = 11, **usage: int) -> bytes:
    """Return the event that begins a message."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": []}
    counts = {"input_tokens": input_tokens, "output_tokens": 1, **usage}
    return event("message_start", message={**message, "stop_reason": None, "usage": counts})


def block(index: int, kind: str, **fields: Any) -> bytes:
    """Return the event that begins a block."""
    return event("content_block_start", index=index, content_block={"type": kind, **fields})


def delta(index: int, kind: str, **fields: Any) -> bytes:
    """Return a piece of a block."""
    return event("content_block_delta", index=index, delta={"type": f"{kind}_delta", **fields})


def stop(index: int) -> bytes:
    """Return the event that ends a block."""
    return event("content_block_stop", index=index)


def end(
    reason: str | None = "end_turn",
    output_tokens: int = 3,
    output_tokens_details: dict[str, int] | None = None,
    **more: Any,
) -> list[bytes]:
    """Return the events that end a message."""
    told = {"stop_reason": reason, "stop_sequence": None, **more}
    details = {"output_tokens_details": output_tokens_details} if output_tokens_details else {}
    usage = {"output_tokens": output_tokens, **details}
    return [event("message_delta", delta=told, usage=usage), event("message_stop")]


def error_body(kind: str, message: str, **details: Any) -> dict[str, Any]:
    """Return an error in the documented shape."""
    error = {"type": kind, "message": message, **({"details": details} if details else {})}
    return {"type": "error", "error": error, "request_id": "req_1"}


def signature(text: str, model: str) -> str:
    """Return what the fake signs a thinking text with."""
    return "sig_" + hashlib.sha256(f"{model}\0{text}".encode()).hexdigest()[:32]


def as_chat(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as Chat Completions would have them."""
    found: list[dict[str, Any]] = []
    for message in messages:
        content = message.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [b for b in blocks if b.get("type") == "tool_result"]
        found += [
            {"role": "tool", "tool_call_id": b["tool_use_id"], "content": b.get("content")}
            for b in results
        ]
        text = "".join(str(b.get("text")) for b in blocks if b.get("type") == "text")
        calls = [b for b in blocks if b.get("type") == "tool_use"]
        if text or calls:
            extra = {"tool_calls": calls} if calls else {}
            found.append({"role": message.get("role"), "content": text, **extra})
    return found


class MessagesScript(Script):
    """The default behaviour for one request."""

    def __init__(self, body: dict[str, Any]) -> None:
        """Read the transcript of the request."""
        super().__init__({**body, "messages": as_chat(body.get("messages") or [])})
        self._body = body
        self._index = -1
        self._kind = ""

    def reply(self) -> Reply:
        """Return the answer, or the refusal of a signature."""
        place = bad_seal(self._body)
        if place is None:
            return super().reply()
        return self._error(
            400, "invalid_request_error", f"{place}: Invalid `signature` in `thinking` block"
        )

    def _error(self, status: int, kind: str, message: str, **headers: str) -> Reply:
        body = json.dumps(error_body(kind, message)).encode()
        return Reply([body], status, content_type="application/json", headers=headers)

    def _refusal(self, directive: Directive) -> Reply:
        code, *pairs = directive.rest.split()
        headers = dict(pair.split("=", 1) for pair in pairs)
        return self._error(int(code), "scripted", f"scripted {code}", **headers)

    def _failure(self) -> Part:
        return event("error", **_without_type(error_body("overloaded_error", "Overloaded")))

    def _opening(self, calls: Sequence[Any]) -> Iterator[Part]:
        yield start(self._prompt())

    def _closing(self, calls: Sequence[Any], count: int) -> Iterator[Part]:
        yield from self._switch("")
        reason = self._finish(calls)
        yield from end(_STOPS.get(reason, reason), count)

    def _shown(self, delta_: dict[str, Any]) -> Iterator[Part]:
        if "reasoning_content" in delta_:
            text = delta_["reasoning_content"]
            yield from self._switch("thinking", thinking="", signature="")
            yield delta(self._index, "thinking", thinking=text)
            signed = signature(text, self._body["model"])
            yield delta(self._index, "signature", signature=signed)
        for call in delta_.get("tool_calls", ()):
            if "id" in call:
                self._kind = self._kind and "ended"
                named = {"id": call["id"], "name": call["function"]["name"], "input": {}}
                yield from self._switch("tool_use", **named)
            elif call["function"]["arguments"]:
                arguments = call["function"]["arguments"]
                yield delta(self._index, "input_json", partial_json=arguments)
        if "content" in delta_:
            yield from self._switch("text", text="")
            yield delta(self._index, "text", text=delta_["content"])

    def _switch(self, kind: str, **fields: Any) -> Iterator[Part]:
        """End the open block when another kind begins, and begin that."""
        if kind == self._kind:
            return
        if self._kind:
            yield stop(self._index)
        self._kind = kind
        if kind:
            self._index += 1
            yield block(self._index, kind, **fields)

    def _whole(self) -> bytes:
        calls = self._calls()
        content: list[dict[str, Any]] = [{"type": "text", "text": "".join(self._pieces())}]
        if calls:
            content = [
                {
                    "type": "tool_use",
                    "id": call["id"],
                    "name": call["function"]["name"],
                    "input": json.loads(call["function"]["arguments"]),
                }
                for call in calls
            ]
        reason = self._finish(calls)
        usage = {"input_tokens": self._prompt(), "output_tokens": 1}
        whole = {"id": "msg_1", "type": "message", "role": "assistant", "content": content}
        return json.dumps(
            {**whole, "stop_reason": _STOPS.get(reason, reason), "usage": usage}
        ).encode()


def bad_seal(body: dict[str, Any]) -> str | None:
    """Return the place of the first thinking block that this model did not sign as it stands."""
    for at, message in enumerate(body.get("messages") or []):
        content = message.get("content")
        for n, part in enumerate(content if isinstance(content, list) else ()):
            signed = signature(part.get("thinking", ""), body.get("model", ""))
            if part.get("type") == "thinking" and part.get("signature") != signed:
                return f"messages.{at}.content.{n}"
    return None


def _without_type(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != "type"}
