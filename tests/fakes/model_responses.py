"""Events of OpenAI's Responses, in the documented shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Item = dict[str, Any]
_IDS = {"message": "msg_1", "reasoning": "rs_1", "function_call": "fc_1", "web_search_call": "ws_1"}


def event(kind: str, **fields: Any) -> bytes:
    """Return one stream event."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def response(status: str, output: Sequence[Item] = (), **more: Any) -> Item:
    """Return an answer as it stands."""
    blank = {"error": None, "incomplete_details": None, "usage": None}
    found = {"id": "resp_1", "object": "response", "status": status, "output": list(output)}
    return {**found, **blank, **more}


def start() -> list[bytes]:
    """Return the events that begin an answer."""
    state = response("in_progress")
    return [event(f"response.{kind}", response=state) for kind in ("created", "in_progress")]


def counted(
    read: int = 11, written: int = 3, cached: int = 0, reasoning: int = 0, **more: int
) -> Item:
    """Return usage."""
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": cached, **more},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": read + written,
    }


def end(output: Sequence[Item] = (), usage: Item | None = None) -> list[bytes]:
    """Return the event that ends an answer."""
    whole = response("completed", output, usage=usage or counted())
    return [event("response.completed", response=whole)]


def incomplete(reason: str, output: Sequence[Item] = ()) -> list[bytes]:
    """Return the event that ends an answer which is not whole."""
    details = {"reason": reason}
    state = response("incomplete", output, incomplete_details=details, usage=counted())
    return [event("response.incomplete", response=state)]


def failed(code: str, message: str = "no") -> bytes:
    """Return the event of an answer that failed."""
    state = response("failed", error={"code": code, "message": message})
    return event("response.failed", response=state)


def _item(kind: str, index: int, **fields: Any) -> Item:
    return {"id": f"{_IDS[kind]}{index}", "type": kind, "status": "completed", **fields}


def message(*parts: str, index: int = 0, **more: Any) -> Item:
    """Return a whole message."""
    content = [{"type": "output_text", "text": "".join(parts), "annotations": []}]
    return _item("message", index, role="assistant", content=content, **more)


def thought(text: str, index: int = 0, sealed: str | None = None) -> Item:
    """Return a whole reasoning item, with its encrypted content where it has some."""
    summary = [{"type": "summary_text", "text": text}] if text else []
    return _item("reasoning", index, summary=summary, encrypted_content=sealed)


def call(call_id: str, arguments: str = "{}", index: int = 0, name: str = "add") -> Item:
    """Return a whole call of a function."""
    return _item("function_call", index, call_id=call_id, name=name, arguments=arguments)


def searched(query: str, index: int = 0) -> Item:
    """Return a whole search."""
    return _item("web_search_call", index, action={"type": "search", "query": query})


def added(item: Item, index: int = 0) -> bytes:
    """Return the event that begins an item: what comes in pieces is not there yet."""
    begun: Item = {"content": [], "summary": [], "arguments": "", "encrypted_content": None}
    blank = {key: value for key, value in begun.items() if key in item}
    state = {**item, **blank, "status": "in_progress"}
    return event("response.output_item.added", output_index=index, item=state)


def done(item: Item, index: int = 0) -> bytes:
    """Return the event that ends an item."""
    return event("response.output_item.done", output_index=index, item=item)


def piece(kind: str, text: str, index: int = 0, **more: Any) -> bytes:
    """Return a piece of a text, a summary or arguments."""
    place = {"item_id": "x_1", "output_index": index, **more}
    return event(f"response.{kind}.delta", **place, delta=text)


def spoken(*pieces: str, index: int = 0, **more: Any) -> list[bytes]:
    """Return the events of a message."""
    item = message(*pieces, index=index, **more)
    shown = [piece("output_text", text, index, content_index=0) for text in pieces]
    part = {"type": "output_text", "text": "".join(pieces), "annotations": []}
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    return [
        added(item, index),
        event("response.content_part.added", **place, part={**part, "text": ""}),
        *shown,
        event("response.output_text.done", **place, text=part["text"]),
        event("response.content_part.done", **place, part=part),
        done(item, index),
    ]


def reasoned(*sections: str, index: int = 0, sealed: str | None = None) -> list[bytes]:
    """Return the events of reasoning, with its summary."""
    item = thought("", index, sealed)
    item["summary"] = [{"type": "summary_text", "text": text} for text in sections]
    shown = [
        piece("reasoning_summary_text", text, index, summary_index=place)
        for place, text in enumerate(sections)
    ]
    return [added(item, index), *shown, done(item, index)]


def called(call_id: str, *arguments: str, index: int = 0) -> list[bytes]:
    """Return the events of a call."""
    item = call(call_id, "".join(arguments) or "{}", index)
    shown = [piece("function_call_arguments", text, index) for text in arguments]
    whole = event(
        "response.function_call_arguments.done",
        item_id=item["id"],
        output_index=index,
        arguments=item["arguments"],
    )
    return [added(item, index), *shown, whole, done(item, index)]
