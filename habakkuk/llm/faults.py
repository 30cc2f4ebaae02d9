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
    RequestTooLarge,
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
    "billing_disabled",
    # Google's word for a free tier that a country does not have: billing must be turned on.
    "failed_precondition",
}
_OVERFLOW = {"context_length_exceeded", "exceed_context_size_error"}
# More bytes than a service takes, or a file that it cannot read: it goes on without files.
_TOO_LARGE = {
    "request_too_large",
    "request_body_too_large_after_decoding",
    "image_too_large",
    "image_file_too_large",
    "image_too_small",
    "image_parse_error",
    "invalid_image",
    "invalid_image_format",
    "invalid_image_mode",
    "invalid_base64_image",
    "unsupported_image_media_type",
    "empty_image_file",
}
_MISSING = {
    "model_not_found",
    "model_not_available",
    "invalid_model",
    "unknown_model",
    "not_found_error",
    "not_found",
}
_REFUSED = {
    "content_filter",
    "content_policy_violation",
    "safety",
    "moderation",
    "data_inspection_failed",
    "image_content_policy_violation",
    "misalignment_policy_violation",
    "bio_policy",
    # OpenAI's word for a prompt that its policy flagged.
    "invalid_prompt",
    "prohibited_content",
    "blocklist",
    "jailbreak",
    "model_armor",
    "image_safety",
}
_AUTH = {
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "account_deactivated",
    "organization_on_hold",
    "unauthorized",
    # Google's reasons; a wrong key is a 400 there.
    "api_key_invalid",
    "api_key_service_blocked",
    "api_key_http_referrer_blocked",
    "api_key_ip_address_blocked",
    "consumer_suspended",
    "consumer_invalid",
    "service_disabled",
    "permission_denied",
    "unauthenticated",
}
_LIMITED = {"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "resource_exhausted"}
_INVALID = {"invalid_request_error", "invalid_request", "invalid_argument"}
# Only for 400 and 413, where several servers send no code of their own.
_OVERFLOW_TEXT = re.compile(
    r"maximum context|context (length|size|window|limit)|prompt is too long"
    r"|too many (input )?tokens|input is too long|token limit|input token count",
    re.IGNORECASE,
)
# Anthropic and Google have one code for every bad request.
_FILES_TEXT = re.compile(
    r"could not process (image|pdf|document)|image exceeds|image dimensions exceed"
    r"|unable to process input image|maximum of \d+ PDF pages",
    re.IGNORECASE,
)
_BILLING_TEXT = re.compile(r"credit balance is too low", re.IGNORECASE)
_MISSING_TEXT = re.compile(r"model\b.{0,80}(does not exist|not found|no such)", re.IGNORECASE)
_SHORTEST_SECRET = 4
_STATUSES = range(400, 600)
_REDIRECTS = range(300, 400)


@dataclass(frozen=True)
class Fault:
    """What a provider said. `status` is 0 when an error came inside a 200 without one.

    `param` is the field of the request that it is about, where the provider names it.
    """

    status: int = 0
    codes: frozenset[str] = frozenset()
    text: str = ""
    retry_after: float | None = None
    param: str | None = None


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
    reasons, wait = _details(error.get("details"))
    values = [*reasons, *(error.get(key) for key in ("code", "type", "status"))]
    numbers = [int(v) for v in values if isinstance(v, int | str) and str(v).isdigit()]
    words = frozenset(v.lower() for v in values if isinstance(v, str) and not v.isdigit())
    text = error.get("message") or error.get("detail") or error.get("msg") or error
    inside = next((n for n in numbers if n in _STATUSES), 0)
    return replace(
        fault,
        status=inside if status == HTTPStatus.OK else status or inside,
        codes=words,
        text=str(text),
        retry_after=wait if fault.retry_after is None else fault.retry_after,
        param=param if isinstance(param := error.get("param"), str) and param else None,
    )


def _details(details: object) -> tuple[list[object], float | None]:
    """Return the codes in an error's details, and the wait that is named there.

    Anthropic's are an object; Google's a list, with the reason in one and the wait in another.
    """
    found = details if isinstance(details, list) else [details]
    parts = [part for part in found if isinstance(part, dict)]
    reasons = [part.get(key) for part in parts for key in ("error_code", "reason")]
    waits = [str(part["retryDelay"]).removesuffix("s") for part in parts if "retryDelay" in part]
    return reasons, seconds_of({"retry-after": waits[0]}) if waits else None


def translate(fault: Fault, endpoint: Endpoint, model: str) -> LlmError:
    """Return the error of the contract's classes, with a message that says what to do."""
    kind, retryable = _classify(fault)
    said = _said(fault, endpoint)
    message = f"{endpoint.name}: {_advice(kind, fault, endpoint, model)}{said}"
    failure = kind(message, retryable=retryable, retry_after=fault.retry_after)
    if isinstance(failure, BadRequest):
        failure.param = fault.param
    return failure


def _classify(fault: Fault) -> tuple[type[LlmError], bool]:
    kind = _told(fault) or _BY_STATUS.get(fault.status) or _by_range(fault)
    return kind, kind in (RateLimited, Overloaded)


def _by_range(fault: Fault) -> type[LlmError]:
    if fault.status in _REDIRECTS:
        # The address is wrong; a fallback elsewhere may answer.
        return ModelMissing
    if 0 < fault.status < HTTPStatus.INTERNAL_SERVER_ERROR or fault.codes & _INVALID:
        return BadRequest
    # 5xx, and an error inside a 200 that tells nothing: the service failed at its work.
    return Overloaded


def _told(fault: Fault) -> type[LlmError] | None:
    """Return what the words of a fault say, its codes first."""
    for codes, kind in _BY_CODE:
        if fault.codes & codes:
            return kind
    for statuses, text, kind in _BY_TEXT:
        if fault.status in statuses and text.search(fault.text):
            return kind
    # After the text: a request may be too large in tokens as well.
    return RequestTooLarge if fault.codes & _TOO_LARGE else None


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
    ((400,), _FILES_TEXT, RequestTooLarge),
)
_BY_STATUS: dict[int, type[LlmError]] = {
    401: AuthFailed,
    402: BillingFailed,
    403: AuthFailed,
    404: ModelMissing,
    408: Overloaded,
    409: Overloaded,
    413: RequestTooLarge,
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
        RequestTooLarge: f"the request has larger or other files than it takes{number}",
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
