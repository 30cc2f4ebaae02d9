"""Call a Chat Completions service: the official SDK's client over lines that can be cut."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import httpx2
import openai

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.openai.answer import Answer
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.providers.openai.wire import Chunk
from habakkuk.llm.transport import line_timeout
from habakkuk.llm.types import LlmRequest, ModelRef
from habakkuk.llm.wire.exchange import Response, SdkErrors, StreamProvider
from habakkuk.llm.wire.sse import Event

_DONE = "[DONE]"


def build(endpoint: Endpoint) -> OpenAIProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return OpenAIProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    client = openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9", max_retries=0)
    _ = client.chat.completions.with_streaming_response
    client.close()
    Chunk.model_validate({"choices": [{"delta": {"content": ""}}]})


class OpenAIProvider(StreamProvider[Chunk]):
    """One endpoint that speaks Chat Completions."""

    service = "Chat Completions"
    address = "which often ends in /v1"
    errors: ClassVar[SdkErrors] = SdkErrors(
        openai.OpenAIError, openai.APIStatusError, openai.APIConnectionError
    )

    def _make_client(self, http: httpx2.Client) -> openai.OpenAI:
        endpoint = self._endpoint
        client = openai.OpenAI(
            api_key=endpoint.api_key or "none",
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=line_timeout(endpoint.stall_timeout),
            default_headers=endpoint.headers,
            http_client=http,
        )
        # The SDK takes these from the environment, and would send them to any service.
        client.organization = None
        client.project = None
        return client

    def _request(
        self, model: str, request: LlmRequest, profile: Profile
    ) -> AbstractContextManager[Response]:
        sending: AbstractContextManager[Response] = (
            self._client.chat.completions.with_streaming_response.create(
                model=model,
                messages=[],
                stream=True,
                extra_body=request_body(request, profile, self._endpoint.dialect),
                extra_headers=self._extra_headers(),
            )
        )
        return sending

    def _extra_headers(self) -> dict[str, Any]:
        """Return what takes the SDK's own header away where there is no key to send."""
        return {"Authorization": openai.Omit()} if self._keyless("authorization") else {}

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> Chunk:
        return Chunk.model_validate(value)

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:  # noqa: ARG002 - the end is no object here
        return event.data.strip() == _DONE
