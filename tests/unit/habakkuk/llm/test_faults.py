"""What providers say, and which class of error it becomes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from habakkuk.core.errors import LlmError
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
from habakkuk.llm.faults import read_fault, translate

MINE = Endpoint(
    "mine",
    "https://user:pw@h/v1?k=v",
    "sk-secret-1",
    {"x-k": "header-secret"},
    api_key_env="MY_KEY",
)


def error(status: int, body: object = None, headers: dict[str, str] | None = None) -> LlmError:
    return translate(read_fault(body, status, headers), MINE, "m-1")


def said(
    code: str | int | None = None, message: str = "no", kind: str | None = None
) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code}}


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (401, said(), AuthFailed),
        (403, said(), AuthFailed),
        (402, said(), BillingFailed),
        (404, said(), ModelMissing),
        (404, "<html>not found</html>", ModelMissing),
        (413, said(), RequestTooLarge),
        (413, said(kind="request_too_large"), RequestTooLarge),
        (413, said(message="prompt is too long: 9 tokens > 8 maximum"), ContextOverflow),
        (413, said("context_length_exceeded"), ContextOverflow),
        (413, said(kind="request_too_large", message="too many tokens"), ContextOverflow),
        (400, said("image_parse_error"), RequestTooLarge),
        (400, said(message="messages.0: image exceeds 5 MB maximum"), RequestTooLarge),
        (400, said("invalid_prompt"), Refused),
        (400, said(message="no", kind="FAILED_PRECONDITION"), BillingFailed),
        (400, {"error": {"details": [{"reason": "API_KEY_INVALID"}]}}, AuthFailed),
        (403, {"error": {"details": [{"reason": "BILLING_DISABLED"}]}}, BillingFailed),
        (429, said(), RateLimited),
        (500, said(), Overloaded),
        (502, "<html>bad gateway</html>", Overloaded),
        (503, None, Overloaded),
        (529, said(kind="overloaded_error"), Overloaded),
        (408, None, Overloaded),
        (400, said(), BadRequest),
        (422, said(), BadRequest),
        (301, None, ModelMissing),
        (429, said("insufficient_quota"), BillingFailed),
        (429, said(kind="insufficient_quota"), BillingFailed),
        (400, said("context_length_exceeded"), ContextOverflow),
        (400, said(kind="exceed_context_size_error"), ContextOverflow),
        (400, said(message="This model's maximum context length is 8192 tokens"), ContextOverflow),
        (400, said("model_not_found"), ModelMissing),
        (400, said(message="The model `x` does not exist"), ModelMissing),
        (400, said(message="Your credit balance is too low"), BillingFailed),
        (400, said(message="input length and `max_tokens` exceed context limit"), ContextOverflow),
        (
            429,
            {"error": {"details": {"error_code": "contract_spend_limit_reached"}}},
            BillingFailed,
        ),
        (429, {"error": {"details": "none"}}, RateLimited),
        (400, said("content_policy_violation"), Refused),
        (400, said("content_filter"), Refused),
        (400, said("invalid_api_key"), AuthFailed),
        # Inside a 200 the body has to tell.
        (200, said(429), RateLimited),
        (200, said("429"), RateLimited),
        (200, said(503), Overloaded),
        (200, said(kind="overloaded_error"), Overloaded),
        (200, said("rate_limit_exceeded"), RateLimited),
        (200, said(kind="invalid_request_error"), BadRequest),
        (200, said(message="something went wrong"), Overloaded),
        (200, {"error": "plain words"}, Overloaded),
        (200, {"error": {"error": {"code": 401, "message": "nested"}}}, AuthFailed),
        (400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "m"}}], BadRequest),
    ],
)
def test_the_class(status: int, body: object, expected: type[LlmError]) -> None:
    assert type(error(status, body)) is expected


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_what_passes_is_retryable(status: int) -> None:
    assert error(status).retryable


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 413])
def test_what_stays_is_not_retryable(status: int) -> None:
    assert not error(status).retryable


def test_a_refused_key_says_which_provider_and_what_to_set() -> None:
    text = str(error(401, said(message="Incorrect API key provided: sk-secret-1")))
    assert text.startswith("mine: the key in MY_KEY was refused (401); set it")


def test_a_missing_key_says_what_to_set() -> None:
    keyless = Endpoint("mine", "http://h/v1", "", api_key_env="MY_KEY")
    assert "set MY_KEY" in str(translate(read_fault(None, 401), keyless, "m"))


def test_a_server_that_wants_an_unnamed_key_says_where_to_name_it() -> None:
    keyless = Endpoint("mine", "http://h/v1", "")
    assert "providers.mine.api_key_env" in str(translate(read_fault(None, 401), keyless, "m"))


@pytest.mark.parametrize("secret", ["sk-secret-1", "header-secret", "user:pw", "k=v"])
@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_no_secret_stands_in_an_error(status: int, secret: str) -> None:
    body = said(message="you sent sk-secret-1 and header-secret")
    assert secret not in str(error(status, body))


def test_the_providers_words_are_kept_short_and_clean() -> None:
    text = str(error(500, said(message="bad\x00\ud800 " + "x" * 5000)))
    assert "bad" in text
    assert len(text) < 500
    text.encode()
    assert "\x00" not in text


def test_a_missing_model_is_named() -> None:
    assert "'m-1'" in str(error(404))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e99"}, 3600.0),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_names(headers: dict[str, str], expected: float | None) -> None:
    assert error(429, None, headers).retry_after == expected


@pytest.mark.parametrize(
    ("delay", "expected"),
    [("34.5s", 34.5), ("0s", 0.0), ("7200s", 3600.0), ("soon", None), (None, None), (7, 7.0)],
)
def test_the_wait_that_stands_in_the_details(delay: object, expected: float | None) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    assert error(429, {"error": {"details": [detail]}}).retry_after == expected


def test_a_header_goes_before_the_wait_in_the_details() -> None:
    body = {"error": {"details": [{"retryDelay": "9s"}]}}
    assert error(429, body, {"retry-after": "3"}).retry_after == 3.0


def test_a_wait_named_as_a_date_counts_from_now() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    wait = error(429, None, {"retry-after": date}).retry_after
    assert wait is not None
    assert 80 < wait <= 90
