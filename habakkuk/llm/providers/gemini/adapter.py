"""Call Gemini: address and headers of the official SDK, over lines that can be cut."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, ClassVar
from urllib.parse import quote

import httpx2
from google.genai._api_client import GOOGLE_AI_API_DEFAULT_VERSION, BaseApiClient
from google.genai.errors import APIError
from google.genai.types import HttpOptions

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.faults import Fault, plain_headers, read_fault
from habakkuk.llm.providers.gemini.answer import Answer
from habakkuk.llm.providers.gemini.encode import request_body
from habakkuk.llm.providers.gemini.wire import Chunk, PromptFeedback
from habakkuk.llm.types import (
    Block,
    LlmRequest,
    Message,
    ModelRef,
    Opaque,
    Thinking,
    ToolCall,
)
from habakkuk.llm.wire.body import loaded
from habakkuk.llm.wire.exchange import SdkErrors, StreamProvider
from habakkuk.llm.wire.outgoing import made_by
from habakkuk.llm.wire.sse import Event

# The version, where the address is written with one.
_ADDRESS = re.compile(r"(?P<base>.*?)/(?P<version>v\d\w*)/*")
_BAD_SEAL = re.compile(r"thought[ _]?signature", re.IGNORECASE)
_UNSIGNED = "MISSING_THOUGHT_SIGNATURE"


def build(endpoint: Endpoint) -> GeminiProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return GeminiProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    provider = GeminiProvider(Endpoint("warm", "http://127.0.0.1:9", "none"))
    provider._url("warm")
    provider.close()
    Chunk.model_validate({"candidates": [{"content": {"parts": [{"text": ""}]}}]})


class GeminiProvider(StreamProvider[Chunk]):
    """One endpoint that speaks generateContent."""

    service = "Gemini"
    address = "which is the part before /models, with or without its version"
    errors: ClassVar[SdkErrors] = SdkErrors(APIError, APIError)
    bad_seal = _BAD_SEAL

    def _make_client(self, http: httpx2.Client) -> BaseApiClient:
        endpoint = self._endpoint
        found = _ADDRESS.fullmatch(endpoint.base_url)
        base = found["base"] if found else endpoint.base_url
        # Raises for what is none; the SDK does not look at it.
        httpx2.URL(base)
        options = HttpOptions(
            base_url=base,
            # Named, since the SDK would take it from the environment.
            api_version=found["version"] if found else GOOGLE_AI_API_DEFAULT_VERSION,
            headers=dict(endpoint.headers),
            httpx_client=http,
            # Never used. Without them the SDK makes its own, which takes it 0.2 s.
            httpx_async_client=httpx2.AsyncClient(transport=httpx2.MockTransport(_nobody)),
            async_client_args={"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
        )
        self._http = http
        # Not the SDK's `Client`, which the environment can turn to another service.
        return BaseApiClient(
            vertexai=False, api_key=endpoint.api_key or "none", http_options=options
        )

    def close(self) -> None:
        """Close the connections, which the SDK leaves to those who made them."""
        super().close()
        self._http.close()

    def _empty_request(self) -> httpx2.Request:
        # The SDK sends what it prepares; this is its own step before.
        made = self._client._build_request("post", "models", {})
        headers = {name: value for name, value in made.headers.items() if value is not None}
        if self._keyless("x-goog-api-key", "authorization"):
            headers.pop("x-goog-api-key", None)
        return httpx2.Request("POST", made.url, headers=headers)

    def _url(self, model: str) -> httpx2.URL:
        name = model if model.startswith(("models/", "tunedModels/")) else f"models/{model}"
        path = f"{quote(name)}:streamGenerateContent?alt=sse"
        return httpx2.URL(self._client._build_request("post", path, {}).url)

    def _status_error(self, response: httpx2.Response) -> Exception:
        # Read by us: the SDK fails at bodies that are no UTF-8.
        body = loaded(response.text) or response.text
        return APIError(response.status_code, body, response)

    def _fault(self, error: APIError) -> Fault:
        sent: Any = error.response
        return read_fault(error.details, error.code, plain_headers(sent.headers))

    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        return request_body(request, profile, ModelRef(self._endpoint.name, model))

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> Chunk:
        return Chunk.model_validate(value)

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:  # noqa: ARG002 - the format has no last event
        return False

    def _error_in(self, event: Event, value: dict[str, Any]) -> object:
        """Return an error, also one that the format tells in other words."""
        if not value.get("candidates") and isinstance(value.get("promptFeedback"), dict):
            return _blocked(PromptFeedback.model_validate(value["promptFeedback"]))
        if _missing_signature(value):
            return {"status": "INVALID_ARGUMENT", "message": "a call has no thought_signature"}
        return super()._error_in(event, value)

    def _unsealed(self, request: LlmRequest, model: ModelRef) -> LlmRequest:
        # The calls get the value of unsigned ones.
        plain = tuple(_without_private(message, model) for message in request.messages)
        return replace(request, messages=plain)


def _nobody(request: httpx2.Request) -> httpx2.Response:
    raise httpx2.ConnectError("no request goes here", request=request)


def _blocked(feedback: PromptFeedback) -> object:
    """Return a blocked prompt as an error; None for one that is only commented on."""
    reason = feedback.block_reason
    if reason is None:
        return None
    said = feedback.block_reason_message or f"the prompt was blocked: {reason}"
    return {"type": "content_filter", "message": said}


def _missing_signature(value: dict[str, Any]) -> bool:
    candidates = value.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    return isinstance(first, dict) and first.get("finishReason") == _UNSIGNED


def _without_private(message: Message, model: ModelRef) -> Message:
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, Thinking | Opaque) and made_by(block, model):
            continue
        if isinstance(block, ToolCall) and block.signature:
            unsigned = {"signature": None, "provider": None, "model": None}
            blocks.append(block.model_copy(update=unsigned))
        else:
            blocks.append(block)
    return replace(message, blocks=tuple(blocks))
