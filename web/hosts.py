"""The hosts that this server answers for: a page that renames itself to 127.0.0.1 is none."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from habakkuk.core.config.settings import Settings

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_EVERYWHERE = frozenset({"0.0.0.0", "::", "*"})  # noqa: S104 - names that are compared, none is bound
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::[0-9]{1,5})?")


def allowed_hosts(settings: Settings) -> frozenset[str]:
    """Return the names that a Host header may carry, without ports."""
    config = settings.config
    names = set(_LOOPBACK) | {host.lower() for host in config.http.hosts}
    if config.public_url is not None:
        names.add((urlsplit(config.public_url).hostname or "").lower())
    listen, _ = settings.listen
    if listen not in _EVERYWHERE:
        names.add(listen.lower())
    return frozenset(names - {""})


def name_of(host: str) -> str | None:
    """Return the name in a Host header, lower case and without its port; None when it is none."""
    match = _HOST.fullmatch(host)
    return (match[1] or match[2]).lower() if match else None
