"""One adapter and a fake server: what it makes of an answer, and what it sends."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Dialect, Endpoint, Profile, Provider
from habakkuk.llm.types import (
    Block,
    Finished,
    LlmRequest,
    Message,
    Role,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    blocks_from_json,
    blocks_to_json,
)
from tests.fakes.model_script import Part, Reply
from tests.fakes.model_server import ModelServer

ADD = ToolSpec("add", "Adds.", {"type": "object"})


def user(*blocks: Block) -> Message:
    """Return a message of the user."""
    return Message(Role.USER, blocks)


def said(words: str) -> Message:
    """Return a message of the user, in words."""
    return user(Text(text=words))


def request(*messages: Message, **more: Any) -> LlmRequest:
    """Return a request with these messages, or with a greeting."""
    return LlmRequest("Be brief.", messages or (said("hello"),), **more)


def stored(blocks: Sequence[Block]) -> tuple[Block, ...]:
    """Return blocks as the store gives them back."""
    return blocks_from_json(json.loads(json.dumps(blocks_to_json(blocks))))


def talk(*blocks: Block) -> LlmRequest:
    """Return a conversation with this answer and the results of its calls."""
    results = [ToolResult(call_id=b.id, text="2") for b in blocks if isinstance(b, ToolCall)]
    answer = Message(Role.ASSISTANT, stored(blocks))
    return request(said("hello"), answer, user(*results) if results else said("more"))


@dataclass(frozen=True)
class Asking:
    """An adapter, and the events of a good answer in its format."""

    build: Callable[[Endpoint], Provider]
    good: Sequence[Part]

    def ask(
        self,
        server: ModelServer,
        *parts: Part,
        asked: LlmRequest | None = None,
        model: str = "m",
        profile: Profile | None = None,
        dialect: Dialect | None = None,
        **kind: Any,
    ) -> Finished:
        """Answer with these parts, or as the server does, and return the end of the stream."""
        if parts:
            server.script = lambda _: Reply(parts, **kind)
        endpoint = Endpoint("mine", server.base_url, "k", dialect=dialect or Dialect())
        provider = self.build(endpoint)
        question = (asked or request(), profile or Profile(), Interrupt())
        try:
            *_, last = provider.stream(model, *question)
        finally:
            provider.close()
        assert isinstance(last, Finished)
        return last

    def body(
        self, server: ModelServer, asked: LlmRequest | None = None, **more: Any
    ) -> dict[str, Any]:
        """Return what is sent, which the service accepts."""
        self.ask(server, *self.good, asked=asked, **more)
        assert server.violations == []
        return server.requests[-1].body
