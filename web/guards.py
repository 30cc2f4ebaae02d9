"""What every request passes before its view: host, token, scope, body. Nothing is open by default.

The order is what keeps strangers cheap: headers are judged before a byte of the body is read.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeVar, cast
from urllib.parse import quote, urlsplit

from flask import Flask, current_app, g, redirect, request
from werkzeug.wrappers import Response

from habakkuk.accounts.types import Principal, Role, Scope
from habakkuk.core.errors import Forbidden
from web.bodies import StrictRequest, take_body
from web.errors import Refused
from web.hosts import name_of

View = TypeVar("View", bound=Callable[..., Any])
OPEN = "open"
SIGNED_IN = "signed in"
_NEEDS = "habakkuk_needs"
_BYTES = "habakkuk_takes_bytes"
_FILES = "habakkuk_takes_files"
# Of JSON without files.
_SMALL = 2_000_000
_PROGRAMS = ("/api/", "/v1/")


def needs(scope: Scope) -> Callable[[View], View]:
    """Mark what a view's caller must be allowed to do. A view without a mark is never reached."""
    return _marked(scope)


def open_to_all(view: View) -> View:
    """Mark a view that needs no token."""
    return _marked(OPEN)(view)


def for_everybody_signed_in(view: View) -> View:
    """Mark a view for whoever is known, whatever they may do."""
    return _marked(SIGNED_IN)(view)


def takes_bytes(view: View) -> View:
    """Mark a view that reads the body itself, since it is no JSON or its bytes are signed."""
    setattr(view, _BYTES, True)
    return view


def takes_files(view: View) -> View:
    """Mark a view whose JSON may hold files and be as large as the config allows."""
    setattr(view, _FILES, True)
    return view


def needed(view: Callable[..., Any]) -> Scope | str | None:
    """Return the mark of a view."""
    return cast("Scope | str | None", getattr(view, _NEEDS, None))


def _marked(mark: Scope | str) -> Callable[[View], View]:
    def mark_view(view: View) -> View:
        setattr(view, _NEEDS, mark)
        return view

    return mark_view


class Guards:
    """The checks of one application."""

    def __init__(self, hosts: frozenset[str], principal: Callable[[], Principal]) -> None:
        """Take what is allowed, and who tells people apart or raises Refused."""
        self._hosts = hosts
        self._principal = principal

    def add_to(self, app: Flask) -> None:
        """Check every request of `app`, unknown addresses included."""
        app.before_request(self._host)
        app.before_request(self._token)
        app.before_request(_body)

    def _host(self) -> None:
        if name_of(request.environ.get("HTTP_HOST", "")) not in self._hosts:
            raise Refused(
                421,
                "this server does not answer for that host; name it in config.yaml under"
                " http.hosts or as public_url",
            )
        origin = urlsplit(request.headers.get("Origin", ""))
        if origin.scheme in {"http", "https"} and name_of(origin.netloc) not in self._hosts:
            raise Refused(403, "requests from other web pages are not accepted")

    def _token(self) -> Response | None:
        view = _view()
        mark = needed(view) if view is not None else None
        if mark == OPEN:
            return None
        try:
            g.principal = self._principal()
        except Refused as refusal:
            if refusal.status == HTTPStatus.UNAUTHORIZED and _wants_page():
                return _to_login()
            raise
        if view is not None:
            _check_scope(g.principal, mark)
        return None


def _wants_page() -> bool:
    """Whether a person's browser asks for something to look at."""
    return (
        request.method == "GET"
        and not request.path.startswith(_PROGRAMS)
        and "text/html" in request.headers.get("Accept", "")
    )


def _to_login() -> Response:
    """Send a browser to the login page, which leads back to where it wanted to go."""
    query = f"?{request.query_string.decode('latin-1')}" if request.query_string else ""
    wanted = quote(f"{request.path}{query}", safe="/")
    return redirect(f"/login?next={wanted}" if wanted != "/" else "/login", 303)


def _check_scope(found: Principal, mark: Scope | str | None) -> None:
    if mark == SIGNED_IN:
        return
    if not isinstance(mark, Scope):
        raise Forbidden("this address is not open")
    if not found.may(mark):
        raise Forbidden(f"this token lacks the scope {mark}; make one with --scope {mark}")
    if found.user.role is Role.VIEWER and mark is not Scope.READ:
        raise Forbidden("viewers may read, not write")


def _body() -> None:
    view = _view()
    if request.routing_exception is None and not getattr(view, _BYTES, False):
        limit = cast("int", current_app.config["MAX_CONTENT_LENGTH"])
        most = limit if getattr(view, _FILES, False) else min(limit, _SMALL)
        take_body(cast("StrictRequest", request), most)


def _view() -> Callable[..., Any] | None:
    return current_app.view_functions.get(request.endpoint or "")
