from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from structlog.testing import capture_logs

from habakkuk.core.errors import (
    ConfigurationError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    QuotaExceeded,
    Unavailable,
)
from web.guards import open_to_all


def failing(app: Flask, error: Exception, path: str = "/fails") -> Any:
    """Add a view that raises `error`, and ask for it."""

    @open_to_all
    def view() -> str:
        raise error

    app.add_url_rule(path, path, view)
    return app.test_client().get(path)


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (Invalid("what is wrong"), 400, "invalid_request"),
        (Forbidden("what is wrong"), 403, "forbidden"),
        (NotFound("what is wrong"), 404, "not_found"),
        (Conflict("what is wrong"), 409, "conflict"),
        (QuotaExceeded("what is wrong"), 429, "rate_limited"),
        (Unavailable("what is wrong"), 503, "unavailable"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_person_may_read_is_answered(
    app: Flask, error: Exception, status: int, kind: str
) -> None:
    answer = failing(app, error)
    assert answer.status_code == status
    assert answer.get_json() == {"error": {"type": kind, "message": "what is wrong"}}


def test_when_to_come_back_is_said(app: Flask) -> None:
    assert failing(app, Unavailable("away", retry_after=2.5)).headers["Retry-After"] == "3"


def test_openai_clients_get_their_own_shape(app: Flask) -> None:
    answer = failing(app, Invalid("what is wrong"), "/v1/fails")
    assert answer.get_json() == {
        "error": {
            "message": "what is wrong",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_request",
        }
    }


@pytest.mark.parametrize("error", [RuntimeError("secret inside"), ConfigurationError("a path")])
def test_a_fault_of_the_server_is_logged_once_and_not_shown(app: Flask, error: Exception) -> None:
    with capture_logs() as logs:
        answer = failing(app, error)
    assert answer.status_code == 500
    message = answer.get_json()["error"]["message"]
    assert str(error) not in message
    failures = [entry for entry in logs if entry["log_level"] == "error"]
    assert len(failures) == 1
    assert failures[0]["exc_info"] is error
    assert failures[0]["request"] in message
    assert answer.headers["X-Request-Id"] == failures[0]["request"]


def test_every_request_is_one_line_without_its_query(app: Flask) -> None:
    with capture_logs() as logs:
        app.test_client().get(
            "/api/chat?limit=hab_secret", headers={"Authorization": "Basic hab_secret"}
        ).close()
    lines = [entry for entry in logs if entry["event"] == "request"]
    assert len(lines) == 1
    assert (lines[0]["method"], lines[0]["route"], lines[0]["status"]) == ("GET", "/api/chat", 401)
    assert "hab_secret" not in str(lines)


def test_the_api_describes_itself(app: Flask) -> None:
    described = app.api_doc  # type: ignore[attr-defined]  # flask-openapi's application
    assert {"/api/chat", "/api/chat/{conversation}/events", "/v1/chat/completions"} <= set(
        described["paths"]
    )
    body = described["paths"]["/api/chat"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["$ref"].endswith("/SendBody")
