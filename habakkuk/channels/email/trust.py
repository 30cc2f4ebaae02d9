"""What the lines to mail servers trust."""

from __future__ import annotations

import ssl
from functools import cache

from habakkuk.core.lines import trusted_certificates


@cache
def trusted() -> ssl.SSLContext:
    """Return the certificates that all of the house trusts; reading them takes 0.1 s, once."""
    return trusted_certificates()
