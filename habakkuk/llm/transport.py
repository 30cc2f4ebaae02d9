"""The HTTP client of one provider, over lines that an interrupt can cut."""

from __future__ import annotations

import httpx2

from habakkuk.core.lines import Calls, LineBackend, LineTransport


def line_transport(calls: Calls) -> LineTransport:
    """Return the connections of one provider."""
    return LineTransport(LineBackend(calls))


def line_client(lines: LineTransport, stall_timeout: float) -> httpx2.Client:
    """Return a client for one provider: no redirects, no proxies from the environment."""
    return httpx2.Client(
        transport=lines,
        timeout=line_timeout(stall_timeout),
        trust_env=False,
        follow_redirects=False,
    )


def line_timeout(stall_timeout: float) -> httpx2.Timeout:
    """Return the limits of single waits; `stall_timeout` is how long no byte may come."""
    return httpx2.Timeout(stall_timeout, connect=10.0, write=30.0, pool=10.0)
