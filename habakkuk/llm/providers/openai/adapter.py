"""Call a Chat Completions service: the official SDK's requests over lines that can be cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import httpx2
import openai
from openai._models import FinalRequestOptions

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.openai.answer import Answer
from habakkuk.llm.providers.openai.encode import request_body
from habakkuk.llm.providers.openai.wire import Chunk
from habakkuk.llm.transport import line_timeout
from habakkuk.llm.types import LlmRequest, ModelRef
from habakkuk.llm.wire.exchange import SdkErrors, StreamProvider
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


class OpenAIProvider(StreamProvider[Chunk]):
    """One endpoint that speaks Chat Completions."""

    service = "Chat Completions"
    address = "which often ends in /v1"
    errors: ClassVar[SdkErrors] = SdkErrors(openai.OpenAIError, openai.APIStatusError)

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

    def _empty_request(self) -> httpx2.Request:
        # What takes the SDK's own header away where there is no key to send.
        headers: Any = {"Authorization": openai.Omit()} if self._keyless("authorization") else {}
        options = FinalRequestOptions(method="post", url="/chat/completions", headers=headers)
        request: httpx2.Request = self._client._build_request(
            self._client._prepare_options(options)
        )
        return request

    def _status_error(self, response: httpx2.Response) -> Exception:
        error: Exception = self._client._make_status_error_from_response(response)
        return error

    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        body = request_body(request, profile, self._endpoint.dialect)
        return {"model": model, "stream": True, **body}

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> Chunk:
        return Chunk.model_validate(value)

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:  # noqa: ARG002 - the end is no object here
        return event.data.strip() == _DONE
