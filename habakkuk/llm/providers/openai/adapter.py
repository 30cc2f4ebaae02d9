"""Call a Chat Completions service: the official SDK's requests over lines that can be cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.openai.answer import Answer
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.providers.openai.wire import Chunk
from habakkuk.llm.types import LlmRequest, ModelRef
from habakkuk.llm.wire.openai_sdk import OpenAISdkProvider
from habakkuk.llm.wire.sse import Event

_DONE = "[DONE]"


def build(endpoint: Endpoint) -> OpenAIProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return OpenAIProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    provider = OpenAIProvider(Endpoint("warm", "http://127.0.0.1:9", "none"))
    provider._empty_request()
    provider.close()
    Chunk.model_validate({"choices": [{"delta": {"content": ""}}]})


class OpenAIProvider(OpenAISdkProvider[Chunk]):
    """One endpoint that speaks Chat Completions."""

    service = "Chat Completions"
    path = "/chat/completions"

    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        body = request_body(request, profile, self._endpoint.dialect)
        return {"model": model, "stream": True, **body}

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> Chunk:
        return Chunk.model_validate(value)

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:  # noqa: ARG002 - the end is no object here
        return event.data.strip() == _DONE
