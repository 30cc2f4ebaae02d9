"""Call a Responses service: the official SDK's requests over lines that can be cut."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from habakkuk.core.errors import LlmError
from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.responses.answer import Answer
from habakkuk.llm.providers.responses.encode import request_body
from habakkuk.llm.providers.responses.wire import StreamEvent
from habakkuk.llm.types import LlmRequest, Message, ModelRef, Opaque
from habakkuk.llm.wire.openai_sdk import OpenAISdkProvider
from habakkuk.llm.wire.outgoing import made_by
from habakkuk.llm.wire.refusals import Plainer
from habakkuk.llm.wire.sse import Event

_ENDS = ("response.completed", "response.incomplete")
_FAILURES = ("response.failed", "response.cancelled")
# Both come as invalid_request_error. Summaries are only for organizations that OpenAI verified.
_NO_SUMMARIES = re.compile(r"reasoning[._ ]summar", re.IGNORECASE)
_BAD_SEAL = re.compile(r"encrypted[_ ]content|\breasoning'? item", re.IGNORECASE)


def build(endpoint: Endpoint) -> ResponsesProvider:
    """Return the provider for an endpoint; the registry calls it."""
    return ResponsesProvider(endpoint)


def warm() -> None:
    """Load what the SDK loads lazily, so that no turn waits for it."""
    provider = ResponsesProvider(Endpoint("warm", "http://127.0.0.1:9", "none"))
    provider._empty_request()
    provider.close()
    StreamEvent.model_validate({"delta": ""})


class ResponsesProvider(OpenAISdkProvider[StreamEvent]):
    """One endpoint that speaks Responses."""

    service = "Responses"
    path = "/responses"
    bad_seal = _BAD_SEAL
    # Off once the service refused them.
    _summaries = True

    def _body(self, model: str, request: LlmRequest, profile: Profile) -> dict[str, Any]:
        ref = ModelRef(self._endpoint.name, model)
        dialect, summaries = self._endpoint.dialect, self._summaries
        body = request_body(request, profile, dialect, ref, summaries=summaries)
        return {"model": model, "stream": True, **body}

    def _answer(self, model: ModelRef, taken: Iterable[str]) -> Answer:
        return Answer(model, taken)

    def _piece(self, value: dict[str, Any]) -> StreamEvent:
        return StreamEvent.model_validate(value)

    def _is_last(self, event: Event, value: dict[str, Any] | None) -> bool:  # noqa: ARG002 - see below
        # By what the event holds alone: its name may have come before the line broke.
        return (value or {}).get("type") in _ENDS

    def _error_in(self, event: Event, value: dict[str, Any]) -> object:
        if value.get("type") in _FAILURES:
            return value.get("response") or value
        if value.get("object") == "response" and value.get("status") in ("failed", "cancelled"):
            return value
        return super()._error_in(event, value)

    def _plainer(self, error: LlmError, request: LlmRequest, model: ModelRef) -> Plainer | None:
        """Leave out the summaries too, where they are refused."""
        if not _NO_SUMMARIES.search(str(error)):
            return super()._plainer(error, request, model)
        self._summaries = False
        return Plainer(request, ("summaries",), lasts=False)

    def _unsealed(self, request: LlmRequest, model: ModelRef) -> LlmRequest:
        plain = tuple(_without_private(message, model) for message in request.messages)
        return replace(request, messages=plain)


def _without_private(message: Message, model: ModelRef) -> Message:
    kept = (b for b in message.blocks if not (isinstance(b, Opaque) and made_by(b, model)))
    return replace(message, blocks=tuple(kept))
