"""Where a request with a cookie comes from: this server's own pages, or it is refused.

A cookie is sent along by the browser whoever wrote the page, also from another port of the same
host. Bearer tokens are not, so programs are not asked.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import request

from habakkuk.core.config.settings import Settings
from web.errors import Refused

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSAL = (
    "this did not come from a page of this server; reload the page. Behind a proxy, set public_url"
    " in config.yaml to the address that people open"
)


def over_tls(settings: Settings) -> bool:
    """Whether the browser speaks TLS: as a trusted proxy says, or as the public address does."""
    public = urlsplit(settings.config.public_url or "")
    return request.is_secure or (public.scheme == "https" and _same(public.netloc, request.host))


def check_origin(settings: Settings) -> None:
    """Refuse what another page sends. Raises Refused.

    Browsers name the origin of whatever writes, in Origin or, where a page keeps that to itself,
    in Sec-Fetch-Site; one that reads may have neither.
    """
    origin = request.headers.get("Origin", "")
    if origin in {"", "null"}:
        site = request.headers.get("Sec-Fetch-Site", "")
        if site == "same-origin" or (request.method in _READS and site in {"", "none"}):
            return
        if request.method in _READS and _navigates():
            return
        raise Refused(403, _REFUSAL)
    scheme = "https" if over_tls(settings) else "http"
    allowed = (f"{scheme}://{request.host}", settings.config.public_url or "")
    if not any(_same(origin, own) for own in allowed):
        raise Refused(403, _REFUSAL)


def _navigates() -> bool:
    """Whether a person goes to a page, wherever the link to it stood."""
    return request.headers.get("Sec-Fetch-Mode") == "navigate"


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()
