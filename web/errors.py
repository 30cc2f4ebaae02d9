"""The only map from errors to status and body. Everybody reads one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from math import ceil

from flask import Flask, Response, request
from pydantic import ValidationError
from pydantic_core import ErrorDetails
from werkzeug.exceptions import HTTPException

from habakkuk.core.errors import (
    Conflict,
    Forbidden,
    HabakkukError,
    Invalid,
    NotFound,
    QuotaExceeded,
    Unavailable,
    UserError,
)
from habakkuk.core.log import get_logger
from habakkuk.interop.openai_chat import error_body
from habakkuk.interop.refused import RefusedParameter
from web.answers import json_answer
from web.site import request_id

_log = get_logger("web")
_STATUS: Mapping[type[UserError], tuple[int, str]] = {
    Invalid: (400, "invalid_request"),
    Forbidden: (403, "forbidden"),
    NotFound: (404, "not_found"),
    Conflict: (409, "conflict"),
    QuotaExceeded: (429, "rate_limited"),
    Unavailable: (503, "unavailable"),
}
_HTTP = {
    400: ("invalid_request", "the request cannot be understood"),
    401: ("unauthorized", "a token is needed"),
    403: ("forbidden", "this is not allowed"),
    404: ("not_found", "there is nothing at this address"),
    405: ("method_not_allowed", "this address does not take this method"),
    408: ("timeout", "the request took too long to arrive; send it again"),
    413: ("too_large", "the request is larger than this server accepts"),
    415: ("unsupported_media_type", "send JSON, with Content-Type: application/json"),
    421: ("wrong_host", "this server does not answer for that host"),
    429: ("rate_limited", "too many requests; try again in a minute"),
}
_OPENAI_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


class Refused(UserError):
    """A request that the guards turn away, with its status."""

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        """Keep the status; `retry_after` is in seconds."""
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


def add_error_handlers(app: Flask) -> None:
    """Answer every error of this application in one shape."""
    app.register_error_handler(UserError, _user_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def failure(
    status: int, kind: str, message: str, *, param: str | None = None, code: str | None = None
) -> Response:
    """Return an error in the shape that the address promises."""
    if request.path.startswith("/v1/"):
        openai = _OPENAI_TYPES.get(
            status,
            "invalid_request_error" if status < HTTPStatus.INTERNAL_SERVER_ERROR else "api_error",
        )
        return json_answer(error_body(message, openai, param, code or kind), status)
    return json_answer({"error": {"type": kind, "message": message}}, status)


def explain_validation(error: ValidationError) -> Response:
    """Answer a body, query or path of the wrong form by its first fault."""
    fault = error.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    return failure(400, "invalid_request", _sentence(fault, place), param=place or None)


def _sentence(fault: ErrorDetails, place: str) -> str:
    if fault["type"] == "missing":
        return f"{place} is missing"
    if fault["type"] == "extra_forbidden":
        return f"{place} is not known here"
    if not place:
        return "the body must be a JSON object"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{place}: {message[0].lower()}{message[1:]}"


def _user_error(error: UserError) -> Response:
    if isinstance(error, Refused):
        kind, _ = _HTTP.get(error.status, ("refused", ""))
        response = failure(error.status, kind, str(error))
        if error.retry_after is not None:
            response.headers["Retry-After"] = str(error.retry_after)
        if error.status == HTTPStatus.UNAUTHORIZED:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response
    status, kind = next(
        (found for known, found in _STATUS.items() if isinstance(error, known)),
        (400, "invalid_request"),
    )
    param = error.param if isinstance(error, RefusedParameter) else None
    response = failure(status, kind, str(error), param=param)
    if isinstance(error, Unavailable):
        response.headers["Retry-After"] = str(ceil(error.retry_after))
    return response


def _http_error(error: HTTPException) -> Response:
    if isinstance(error.response, Response):
        return error.response
    status = error.code or 500
    kind, message = _HTTP.get(status, ("refused", error.name.lower()))
    response = failure(status, kind, message)
    allowed = getattr(error, "valid_methods", None)
    if allowed:
        response.headers["Allow"] = ", ".join(sorted(allowed))
    return response


def _unexpected(error: Exception) -> Response:
    name = request_id()
    _log.error("request failed", request=name, route=str(request.url_rule), exc_info=error)
    hint = "see" if isinstance(error, HabakkukError) else "this is a fault of the server; see"
    return failure(
        500, "internal_error", f"the request could not be carried out; {hint} {name} in the logs"
    )
