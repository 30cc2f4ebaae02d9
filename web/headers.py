"""Headers of every answer, and one log line for each request: never a token or a query string."""

from __future__ import annotations

import time
from functools import partial
from http import HTTPStatus

from flask import Flask, Response, g, request

from habakkuk.core.log import get_logger
from web.site import noted_session, request_id

_log = get_logger("web")
_SECURITY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    # Else a browser asks for the names in links before anybody presses one: what an agent read
    # could leave as part of such a name.
    "X-DNS-Prefetch-Control": "off",
}
SESSION_HEADER = "X-Habakkuk-Session"


def add_headers_and_log(app: Flask) -> None:
    """Complete every answer of `app` and log it when its last byte was handed over."""
    app.before_request(_began)
    app.after_request(_complete)


def _began() -> None:
    g.began = time.monotonic()


def _complete(response: Response) -> Response:
    for name, value in _SECURITY.items():
        response.headers.setdefault(name, value)
    response.headers["X-Request-Id"] = request_id()
    session = noted_session()
    if session is not None:
        response.headers[SESSION_HEADER] = session
    user = g.principal.user.id if "principal" in g else None
    rule = request.url_rule.rule if request.url_rule is not None else None
    fields = {"method": request.method, "route": rule, "user": user, "request": request_id()}
    response.call_on_close(partial(_log_line, g.get("began", time.monotonic()), response, fields))
    return response


def _log_line(began: float, response: Response, fields: dict[str, str | None]) -> None:
    quiet = fields["route"] == "/healthz" and response.status_code == HTTPStatus.OK
    write = _log.debug if quiet else _log.info
    ms = round((time.monotonic() - began) * 1000, 1)
    write("request", **fields, status=response.status_code, ms=ms)
