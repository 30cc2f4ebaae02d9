"""The certificates that TLS trusts, read once for each use: reading them takes 0.1 s."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2


@cache
def trusted(_use: str) -> ssl.SSLContext:
    """Return what all of the house trusts, the system's store, for one use alone.

    Clients write into it what they speak: a mail server refuses who offers it HTTP.
    """
    # The environment gives only SSL_CERT_FILE and SSL_CERT_DIR: minimal images need them.
    return httpx2.create_ssl_context(trust_env=True)
