"""From what a provider says went wrong to the class that says what helps, in words for a person.

Providers agree on little: the status may be right, a code may be in the body, an error may come
inside a 200. So status, code and type are looked at in turn, the text last and only for what no
code tells.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from habakkuk.core.errors import LlmError
from habakkuk.core.retry_after import seconds_of
from habakkuk.core.text import clean, shorten
from habakkuk.llm.contract import (
    AuthFailed,
    BadRequest,
    BillingFailed,
    ContextOverflow,
    Endpoint,
    ModelMissing,
    Overloaded,
    RateLimited,
    Refused,
)

_BILLING = {
    "insufficient_quota",
    "billing_error",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
    "payment_required",
    "contract_spend_limit_reached",
    "enforced_spend_limit_reached",
    "linked_organization_spend_limit_reached",
    "linked_organization_billing_unavailable",
    "user_profile_not_billable",
}
_OVERFLOW = {
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "request_body_too_large_after_decoding",
}
_MISSING = {
    "model_not_found",
    "model_not_available",
    "invalid_model",
    "unknown_model",
    "not_found_error",
}
_REFUSED = {
    "content_filter",
    "content_policy_violation",
    "safety",
    "moderation",
    "data_inspection_failed",
}
_AUTH = {
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "account_deactivated",
    "organization_on_hold",
    "unauthorized",
}
_LIMITED = {"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"}
_INVALID = {"invalid_request_error", "invalid_request", "invalid_argument"}
# Only for 400 and 413, where several servers send no code of their own.
_OVERFLOW_TEXT = re.compile(
    r"maximum context|context (length|size|window|limit)|prompt is too long"
    r"|too many (input )?tokens|input is too long|token limit",
    re.IGNORECASE,
)
_BILLING_TEXT = re.compile(r"credit balance is too low", re.IGNORECASE)
_MISSING_TEXT = re.compile(r"model\b.{0,80}(does not exist|not found|no such)", re.IGNORECASE)
_SHORTEST_SECRET = 4
_STATUSES = range(400, 600)
_REDIRECTS = range(300, 400)


@dataclass(frozen=True)
class Fault:
    """What a provider said. `status` is 0 when an error came inside a 200 without one."""

    status: int = 0
    codes: frozenset[str] = frozenset()
    text: str = ""
    retry_after: float | None = None


def read_fault(body: object, status: int = 0, headers: Mapping[str, str] | None = None) -> Fault:
    """Read an error body of any of the usual shapes."""
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict) and isinstance(error.get("error"), dict):
        error = error["error"]
    fault = Fault(status=status, retry_after=seconds_of(headers or {}))
    if not isinstance(error, dict):
        return replace(
            fault, status=0 if status == HTTPStatus.OK else status, text=str(error or "")
        )
    details = error.get("details")
    inner = details.get("error_code") if isinstance(details, dict) else None
    values = [inner, *(error.get(key) for key in ("code", "type", "status"))]
    numbers = [int(v) for v in values if isinstance(v, int | str) and str(v).isdigit()]
    words = frozenset(v.lower() for v in values if isinstance(v, str) and not v.isdigit())
    text = error.get("message") or error.get("detail") or error.get("msg") or error
    inside = next((n for n in numbers if n in _STATUSES), 0)
    return replace(
        fault,
        status=inside if status == HTTPStatus.OK else status or inside,
        codes=words,
        text=str(text),
    )


def translate(fault: Fault, endpoint: Endpoint, model: str) -> LlmError:
    """Return the error of the contract's classes, with a message that says what to do."""
    kind, retryable = _classify(fault)
    said = _said(fault, endpoint)
    message = f"{endpoint.name}: {_advice(kind, fault, endpoint, model)}{said}"
    return kind(message, retryable=retryable, retry_after=fault.retry_after)


def _classify(fault: Fault) -> tuple[type[LlmError], bool]:
    for codes, kind in _BY_CODE:
        if fault.codes & codes:
            return kind, kind in (RateLimited, Overloaded)
    for statuses, text, kind in _BY_TEXT:
        if fault.status in statuses and text.search(fault.text):
            return kind, False
    if fault.status in _BY_STATUS:
        kind = _BY_STATUS[fault.status]
    elif fault.status in _REDIRECTS:
        # The address is wrong; a fallback elsewhere may answer.
        kind = ModelMissing
    elif 0 < fault.status < HTTPStatus.INTERNAL_SERVER_ERROR or fault.codes & _INVALID:
        kind = BadRequest
    else:
        # 5xx, and an error inside a 200 that tells nothing: the service failed at its work.
        kind = Overloaded
    return kind, kind in (RateLimited, Overloaded)


_BY_CODE: tuple[tuple[set[str], type[LlmError]], ...] = (
    (_BILLING, BillingFailed),
    (_OVERFLOW, ContextOverflow),
    (_MISSING, ModelMissing),
    (_REFUSED, Refused),
    (_AUTH, AuthFailed),
    (_LIMITED, RateLimited),
)
_BY_TEXT: tuple[tuple[tuple[int, ...], re.Pattern[str], type[LlmError]], ...] = (
    ((400, 404, 413, 422), _OVERFLOW_TEXT, ContextOverflow),
    ((400,), _BILLING_TEXT, BillingFailed),
    ((400,), _MISSING_TEXT, ModelMissing),
)
_BY_STATUS: dict[int, type[LlmError]] = {
    401: AuthFailed,
    402: BillingFailed,
    403: AuthFailed,
    404: ModelMissing,
    408: Overloaded,
    409: Overloaded,
    413: ContextOverflow,
    425: Overloaded,
    429: RateLimited,
}


def _advice(kind: type[LlmError], fault: Fault, endpoint: Endpoint, model: str) -> str:
    number = f" ({fault.status})" if fault.status else ""
    if kind is AuthFailed:
        return _key_advice(number, endpoint)
    if fault.status in _REDIRECTS:
        return (
            f"it answered with a redirect{number}, which is not followed;"
            " write the final address as base_url"
        )
    return {
        BillingFailed: f"the account has no credit or quota left{number};"
        " add credit there or name a fallback model",
        ModelMissing: f"no model {model!r} at {endpoint.address}{number};"
        " check the model's name and base_url",
        ContextOverflow: f"the conversation is longer than {model} takes{number}",
        RateLimited: f"too many requests for this key{number}; wait, or name a fallback model",
        Refused: f"its policy refused the request{number}",
        Overloaded: f"it is overloaded or failed inside{number}; try again later",
    }.get(kind, f"it could not accept the request{number}")


def _key_advice(number: str, endpoint: Endpoint) -> str:
    name = endpoint.api_key_env
    if not endpoint.api_key:
        named = (
            f"set {name}"
            if name
            else f"name its variable as providers.{endpoint.name}.api_key_env, and set it"
        )
        return f"it asks for a key{number}; {named} in the environment or in $HABAKKUK_HOME/.env"
    return f"the key in {name or 'its variable'} was refused{number}; set it with a valid key"


def _said(fault: Fault, endpoint: Endpoint) -> str:
    """Return the provider's own words, without the key that some of them repeat."""
    text = hide_secrets(clean(fault.text), endpoint)
    return f" [it said: {shorten(text, 300)}]" if text.strip() else ""


def hide_secrets(text: str, endpoint: Endpoint) -> str:
    """Return `text` without the endpoint's key and the values of its own headers."""
    for secret in (endpoint.api_key, *endpoint.headers.values()):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


def plain_headers(headers: Mapping[Any, Any]) -> dict[str, str]:
    """Return response headers with lower-case names."""
    return {str(name).lower(): str(value) for name, value in headers.items()}
