"""Files, requests that carry them, and the services that take them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from habakkuk.core.errors import NotFound
from habakkuk.llm.contract import Dialect, Endpoint, Profile
from habakkuk.llm.types import (
    LlmRequest,
    Media,
    Message,
    ModelRef,
    Role,
    Text,
    ToolResult,
)

MODEL = ModelRef("anthropic", "claude-sonnet-5-5")
SEES = Profile(vision=True, documents=True, context_window=200_000)
ENDPOINTS = {
    "anthropic": Endpoint("anthropic", "https://api.anthropic.com", "k", type="anthropic"),
    "mine": Endpoint("mine", "http://127.0.0.1:1/v1", ""),
    "router": Endpoint("router", "http://127.0.0.1:1/v1", "", dialect=Dialect(documents=True)),
    "few": Endpoint("few", "http://127.0.0.1:1/v1", "", dialect=Dialect(images=4)),
}


class Shelf:
    """Blobs in memory, which counts what is read."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.reads = 0

    def add(self, data: bytes, name: str | None = None, mime: str = "image/png") -> Media:
        blob = hashlib.sha256(data).hexdigest()
        self.files[blob] = data
        return Media(blob=blob, mime=mime, name=name)

    def load(self, blob: str) -> bytes:
        self.reads += 1
        if blob not in self.files:
            raise NotFound("there is no such file")
        return self.files[blob]


def asking(*messages: Message) -> LlmRequest:
    return LlmRequest(system="", messages=messages)


def says(*blocks: Text | Media | ToolResult) -> Message:
    return Message(Role.USER, blocks)


def answer() -> Message:
    return Message(Role.ASSISTANT, (Text(text="I see."),))


def turns(files: Sequence[Media]) -> list[Message]:
    """Return a conversation with one file a turn; the last is not answered."""
    spoken = [message for media in files for message in (says(media), answer())]
    return spoken[:-1]


def sent(request: LlmRequest) -> list[Media]:
    return [b for message in request.messages for b in message.blocks if isinstance(b, Media)]
