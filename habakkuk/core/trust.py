"""The certificates that TLS trusts, read once for each use: reading them takes 0.1 s."""

from __future__ import annotations

import ssl
from functools import cache

from habakkuk.core.lines import trusted_certificates


@cache
def trusted(_use: str) -> ssl.SSLContext:
    """Return what all of the house trusts, for one use alone.

    Clients write into it what they speak: a mail server refuses who offers it HTTP.
    """
    return trusted_certificates()
