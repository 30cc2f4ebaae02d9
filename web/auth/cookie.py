"""The session's cookie: out of reach of scripts, never sent from another site."""

from __future__ import annotations

import base64
import hashlib
import hmac

from flask import Response, request

from habakkuk.core.config.settings import Settings
from web.auth.origin import over_tls

# As long as a session can last; the server ends it earlier when it is not used.
_MAX_AGE_SECONDS = 90 * 86_400


def session_cookie(settings: Settings) -> str | None:
    """Return the secret in the request's cookie, None when there is none."""
    return request.cookies.get(_name(settings)) or None


def give_cookie(response: Response, settings: Settings, secret: str) -> None:
    """Send a new session's secret to the browser."""
    response.set_cookie(
        _name(settings),
        secret,
        max_age=_MAX_AGE_SECONDS,
        path="/",
        secure=over_tls(settings),
        httponly=True,
        samesite="Strict",
    )


def take_cookie(response: Response, settings: Settings) -> None:
    """Let the browser forget the session."""
    response.delete_cookie(
        _name(settings), path="/", secure=over_tls(settings), httponly=True, samesite="Strict"
    )


def csrf_token(secret: str) -> str:
    """Return what pages of this session send in X-CSRF-Token: derived, so that it is not stored.

    A page can show it without showing the secret.
    """
    mac = hmac.new(secret.encode("utf-8", "surrogatepass"), b"habakkuk csrf 1", hashlib.sha256)
    return base64.urlsafe_b64encode(mac.digest()).rstrip(b"=").decode()


def csrf_matches(secret: str, sent: str) -> bool:
    """Whether a request carries its session's token; compared in constant time."""
    return hmac.compare_digest(csrf_token(secret).encode(), sent.encode("utf-8", "surrogatepass"))


def _name(settings: Settings) -> str:
    """Return the cookie's name: cookies know no ports, and one machine may run two servers.

    Over TLS the prefix makes browsers refuse one that a neighbouring host sets.
    """
    return "__Host-habakkuk" if over_tls(settings) else f"habakkuk_{settings.listen[1]}"
