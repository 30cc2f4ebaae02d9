"""Call a Messages service: the official SDK's requests over lines that can be cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, ClassVar

import anthropic
import httpx2
from anthropic._models import FinalRequestOptions

from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.anthropic.answer import Answer
from habakkuk.llm.providers.anthropic.encode import (
    replays_thinking,
    request_body,
    without_thinking,
)
from habakkuk.llm.providers.anthropic.wire import StreamEvent
from habakkuk.llm.transport import line_timeout
from habakkuk.llm.types import LlmRequest, ModelRef
from habakkuk.llm.wire.exchange import SdkErrors, StreamProvider
from habakkuk.llm.wire.sse import Event

# The refusals of a signed block have the code of every bad request, so their text must tell:
# "Invalid `signature` in `thinking` block", "`thinking` or `redacted_thinking` blocks in the
# latest assistant message cannot be modified", "Invalid `data` in `redacted_thinking` block".
_BAD_SEAL = re.compile(r"thinking\W+blocks?\b|\bthinking\.signature", re.IGNORECASE)


def build(endpoint: Endpoint) -> AnthropicProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return AnthropicProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    provider = AnthropicProvider(Endpoint("warm", "http://127.0.0.1:9", "none"))
    provider._empty_request()
    provider.close()
    StreamEvent.model_validate({"delta": {"text": ""}})


class AnthropicProvider(StreamProvider[StreamEvent]):
    """One endpoint that speaks Messages."""

    service = "Messages"
    address = "which is the part before /v1/messages"
    errors: ClassVar[SdkErrors] = SdkErrors(anthropic.AnthropicError, anthropic.APIStatusError)
    bad_seal = _BAD_SEAL

    def _make_client(self, http: httpx2.Client) -> anthropic.Anthropic:
        endpoint = self._endpoint
        client = anthropic.Anthropic(
            api_key=endpoint.api_key or "none",
            # The SDK adds /v1 itself; addresses are often written with it.
            base_url=endpoint.base_url.rstrip("/").removesuffix("/v1"),
            max_retries=0,
            timeout=line_timeout(endpoint.stall_timeout),
            http_client=http,
            open_telemetry=False,
        )
        # In place of `default_headers`, to which the SDK adds headers from the environment.
        client._custom_headers = dict(endpoint.headers)
        return client

    def _empty_request(self) -> httpx2.Request:
        # What takes the SDK's own header away where there is no key to send.
        keyless = self._keyless("authorization")
        headers: Any = {"Authorization": anthropic.Omit()} if keyless else {}
        options = FinalRequestOptions(method="post", url="/v1/messages", headers=headers)
        request: httpx2.Request = self._client._build_request(
            self._client._prepare_options(options)
        )
        return request

    def _status_error(self, response: httpx2.Response) -> Exception:
        error: Exception = self._client._make_status_error_from_response(response)
        return error

    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        body = request_body(request, profile, ModelRef(self._endpoint.name, model))
        return {"model": model, "stream": True, **body}

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> StreamEvent:
        return StreamEvent.model_validate(value)

    def _unsealed(self, request: LlmRequest, model: ModelRef) -> LlmRequest:
        # All of it: a part of the thinking gone, the signatures of the rest would not hold.
        return without_thinking(request) if replays_thinking(request, model) else request

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:
        return "message_stop" in (event.name, (value or {}).get("type"))
