"""The one client for outside addresses that people, models or pages name.

A name is resolved once, every answer is checked, and only those answers are connected to: nothing
between the check and the connection can change. Each redirect is a new request with a new check.
Proxies of the environment are not used, since they would resolve the name themselves.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from habakkuk.core.addresses import (
    AddressInfo,
    Connect,
    Resolve,
    is_of_this_machine,
    name_refusal,
    refusal,
    resolve_name,
)
from habakkuk.core.http import Fetched, Head, HttpRefused, Limits, Request
from habakkuk.core.interrupt import Interrupt

if TYPE_CHECKING:
    from habakkuk.core.fetch import Fetcher

_ITSELF = "this server itself"


class OutsideHttp:
    """Fetches from public addresses only. Thread-safe; no connection outlives its fetch."""

    def __init__(
        self,
        resolve: Resolve = resolve_name,
        connect: Connect = socket.socket.connect,
        own_names: Collection[str] = (),
        is_own: Callable[[str], bool] = is_of_this_machine,
        trust: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        """Refuse `own_names`, those of this server, and the addresses of which `is_own` is true.

        `trust` is asked once, before the first fetch; None trusts the system's store. Tests give a
        fake resolver and a connector that stays on loopback.
        """
        self._resolve = resolve
        self._connect = connect
        self._own_names = frozenset(map(_folded, own_names))
        self._is_own = is_own
        self._trust = trust

    def get(
        self,
        url: str,
        limits: Limits,
        interrupt: Interrupt,
        headers: Mapping[str, str] | None = None,
    ) -> Fetched:
        """Read `url`, following at most five redirects.

        Raises HttpRefused for an address that may not be called, HttpFailed when no answer came
        within the limits, and Interrupted.
        """
        return self._fetcher.get(url, limits, interrupt, headers or {})

    def call(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool = False
    ) -> Fetched:
        """Send one request; a redirect is returned as it came, since its target is another one.

        `trusted`: the operator named the address, so it may be on this machine or network. Raises
        as get does.
        """
        return self._fetcher.call(request, limits, interrupt, trusted=trusted)

    def stream(
        self, request: Request, limits: Limits, interrupt: Interrupt, *, trusted: bool = False
    ) -> AbstractContextManager[tuple[Head, Iterator[bytes]]]:
        """Send one request as `call` does; its body comes in pieces, as many as are asked for.

        Only the seconds of the limits count here. Raises as get does, while it is read too.
        """
        return self._fetcher.stream(request, limits, interrupt, trusted=trusted)

    @cached_property
    def _fetcher(self) -> Fetcher:
        # The web process has this client and calls nobody: it keeps 10 MB less without httpx2.
        from habakkuk.core.fetch import Fetcher  # noqa: PLC0415 - see above

        return Fetcher(self._resolve, self._checked, self._connect, self._trust)

    def _checked(self, host: str, port: int) -> Sequence[AddressInfo]:
        """Resolve a host and return its addresses; one that is not public refuses all of them."""
        why = _ITSELF if _folded(host) in self._own_names else name_refusal(host)
        if why is not None:
            raise HttpRefused(f"{host} may not be called: {why}")
        found = self._resolve(host, port)
        for _, _, _, _, address in found:
            why = self._refusal(str(address[0]))
            if why is not None:
                raise HttpRefused(f"{host} may not be called: {why}{_fake_dns(str(address[0]))}")
        return found

    def _refusal(self, address: str) -> str | None:
        return refusal(address) or (_ITSELF if self._is_own(address) else None)


def _folded(host: str) -> str:
    return host.rstrip(".").casefold()


def _fake_dns(address: str) -> str:
    """Explain the one case in which every public site is refused."""
    if address.startswith(("198.18.", "198.19.")):
        return " (the resolver of this machine answers with fake addresses, as some proxies do)"
    return ""
