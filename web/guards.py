"""What every request passes before its view: host, token, scope, body. Nothing is open by default.

The order is what keeps strangers cheap: headers are judged before a byte of the body is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from flask import Flask, current_app, g, request

from habakkuk.accounts.types import Principal, Role, Scope
from habakkuk.core.errors import Forbidden, Unavailable
from web.bodies import StrictRequest, take_body
from web.errors import Refused
from web.health import Health
from web.hosts import name_of
from web.site import container
from web.throttle import Throttle

View = TypeVar("View", bound=Callable[..., Any])
OPEN = "open"
_NEEDS = "habakkuk_needs"
_HELP = (
    "make a token with ./scripts/habakkuk tokens create NAME and send it as"
    " Authorization: Bearer TOKEN"
)
_TOKEN_NAMES = frozenset({"token", "access_token", "api_key", "apikey", "key"})


def needs(scope: Scope) -> Callable[[View], View]:
    """Mark what a view's caller must be allowed to do. A view without a mark is never reached."""
    return _marked(scope)


def open_to_all(view: View) -> View:
    """Mark a view that needs no token."""
    return _marked(OPEN)(view)


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

    def __init__(self, hosts: frozenset[str], throttle: Throttle, health: Health) -> None:
        """Take what is allowed, counted and known."""
        self._hosts = hosts
        self._throttle = throttle
        self._health = health

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

    def _token(self) -> None:
        view = _view()
        mark = needed(view) if view is not None else None
        if mark == OPEN:
            return
        self._refuse_query_tokens()
        token = _bearer(request.headers.get("Authorization", ""))
        self._health.require_schema()
        found = self._authenticated(token)
        g.principal = found
        if view is not None:
            _check_scope(found, mark)

    def _authenticated(self, token: str) -> Principal:
        source = request.remote_addr or ""
        self._throttle.attempt(source, token)
        try:
            found = container().accounts.authenticate(token)
        except Unavailable:
            self._throttle.take_back(source)
            raise
        if found is None:
            raise Refused(401, f"this token is not known or was revoked; {_HELP}")
        self._throttle.succeeded(source, token)
        return found

    def _refuse_query_tokens(self) -> None:
        if _TOKEN_NAMES.intersection(name.lower() for name in request.args):
            raise Refused(401, f"a token in an address ends up in logs; {_HELP}")


def _check_scope(found: Principal, mark: Scope | str | None) -> None:
    if not isinstance(mark, Scope):
        raise Forbidden("this address is not open")
    if not found.may(mark):
        raise Forbidden(f"this token lacks the scope {mark}; make one with --scope {mark}")
    if found.user.role is Role.VIEWER and mark is not Scope.READ:
        raise Forbidden("viewers may read, not write")


def _body() -> None:
    if request.routing_exception is None:
        take_body(cast("StrictRequest", request))


def _view() -> Callable[..., Any] | None:
    return current_app.view_functions.get(request.endpoint or "")


def _bearer(header: str) -> str:
    scheme, _, token = header.strip().partition(" ")
    if not header.strip() or (scheme.lower() == "bearer" and not token.strip()):
        raise Refused(401, f"a token is needed; {_HELP}")
    if scheme.lower() != "bearer":
        raise Refused(401, f"only bearer tokens are accepted; {_HELP}")
    return token.strip()
