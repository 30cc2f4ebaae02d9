"""Who a request comes from: a program by its token, a browser by its session."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import g, request

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.core.errors import Unavailable
from web.auth.cookie import csrf_matches, session_cookie
from web.auth.origin import check_origin
from web.errors import Refused
from web.health import Health
from web.throttle import Throttle

CSRF_HEADER = "X-CSRF-Token"
_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_HELP = (
    "make a token with ./scripts/habakkuk tokens create NAME and send it as"
    " Authorization: Bearer TOKEN"
)
_TOKEN_NAMES = frozenset({"token", "access_token", "api_key", "apikey", "key", "secret"})
_SIGNED_OUT = "you are signed out; open /login"


class Door:
    """Tells the people of one application apart."""

    def __init__(self, container: Container, health: Health) -> None:
        """Look through the parts of this process, once the database can tell."""
        self._container = container
        self._health = health
        self._tokens = Throttle(container.clock, container.redis)

    def principal(self) -> Principal:
        """Return who comes. Raises Refused, and Unavailable when that cannot be told now.

        A request with a token is judged by it alone: a cookie beside it is not looked at.
        """
        if _TOKEN_NAMES.intersection(name.lower() for name in request.args):
            raise Refused(401, f"a token in an address ends up in logs; {_HELP}")
        header = request.headers.get("Authorization", "").strip()
        secret = session_cookie(self._container.settings)
        if header or secret is None:
            return self._program(header)
        return self._browser(secret)

    def _program(self, header: str) -> Principal:
        token = _bearer(header)
        found = self._checked(token, self._container.accounts.authenticate)
        if found is None:
            raise Refused(401, f"this token is not known or was revoked; {_HELP}")
        return found

    def _browser(self, secret: str) -> Principal:
        settings = self._container.settings
        check_origin(settings)
        sent = request.headers.get(CSRF_HEADER, "")
        if request.method not in _READS and not csrf_matches(secret, sent):
            raise Refused(403, f"the header {CSRF_HEADER} is not this session's; reload the page")
        found = self._checked(secret, self._container.logins.session)
        if found is None:
            raise Refused(401, _SIGNED_OUT)
        g.session_secret = secret
        return found

    def _checked(self, secret: str, check: Callable[[str], Principal | None]) -> Principal | None:
        """Look a secret up; failures are counted before, so that guessing stays slow."""
        self._health.require_schema()
        attempt = self._tokens.attempt(request.remote_addr or "", secret)
        try:
            found = check(secret)
        except Unavailable:
            self._tokens.take_back(attempt)
            raise
        if found is None:
            self._tokens.failed(attempt)
        else:
            self._tokens.succeeded(attempt)
            g.recheck = partial(check, secret)
        return found


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if not header or (scheme.lower() == "bearer" and not token.strip()):
        raise Refused(401, f"a token is needed; {_HELP}")
    if scheme.lower() != "bearer":
        raise Refused(401, f"only bearer tokens are accepted; {_HELP}")
    return token.strip()
