"""HTTP lines to other systems that another thread can cut at once.

A reader that is blocked in a socket notices neither a flag nor a closed response: closing the
stream left it blocked for 7 s, shutting the socket down freed it in 1 ms. So these lines know at
every moment which call uses them: from the connection on, through TLS and the wait for headers,
to the last byte.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import httpcore2
import httpx2

from habakkuk.core.addresses import Connect, Resolve, resolve_name
from habakkuk.core.trust import trusted

_Options = Iterable[tuple[Any, ...]]
# Turns run 128 at once in a process: the library's default of 100 connections would make some wait.
_KEPT_LINES = 32
_KEPT_SECONDS = 55.0


class Plug:
    """What shuts one socket down from any thread, and only while it is open.

    It holds a duplicate: TLS takes the first one away while it shakes hands.
    """

    def __init__(self, sock: socket.socket) -> None:
        """Duplicate the socket's descriptor."""
        self._lock = threading.Lock()
        self._sock: socket.socket | None = sock.dup()

    def pull(self) -> None:
        """Shut the socket down: whoever reads or writes in it returns at once."""
        with self._lock:
            if self._sock is not None:
                with suppress(OSError):
                    self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the duplicate up, so that the connection can end."""
        with self._lock:
            if self._sock is not None:
                self._sock.close()
                self._sock = None


class Call:
    """One request on its way: knows its line, cuts it on demand, and limits each wait."""

    def __init__(self, seconds: float) -> None:
        """Let the whole call take at most `seconds`."""
        self._lock = threading.Lock()
        self._plug: Plug | None = None
        self._cut = False
        self._over = False
        self._deadline = time.monotonic() + seconds
        self._next = self._deadline
        self._silence: float | None = None

    def use(self, plug: Plug) -> None:
        """Say which line is used from now on; it is cut when the call already was."""
        with self._lock:
            if not self._over:
                self._plug = plug
                # Each time: a cut that came before the connection stood had nothing to shut.
                if self._cut:
                    plug.pull()

    def cut(self) -> None:
        """Shut the line down, now and as soon as there is one. Any thread, more than once."""
        with self._lock:
            self._cut = True
            if self._plug is not None:
                self._plug.pull()

    def release(self) -> None:
        """Let go of the line, before another call may take it from the pool."""
        with self._lock:
            self._over = True
            self._plug = None

    def hurry(self, seconds: float) -> None:
        """Shorten the rest of the call: what matters has come."""
        self._deadline = min(self._deadline, time.monotonic() + seconds)

    def expect(self, seconds: float, silence: float | None = None) -> None:
        """Say within which time something that counts must come, and how long no byte may come."""
        self._next = time.monotonic() + seconds
        self._silence = silence

    @property
    def late(self) -> bool:
        """Whether the call's time is up."""
        return time.monotonic() >= self._deadline

    @property
    def begun(self) -> bool:
        """Whether anything that counts has come."""
        return self._silence is not None

    @property
    def overdue(self) -> bool:
        """Whether what was expected did not come in its time."""
        return time.monotonic() >= self._next

    def limit(self, timeout: float | None) -> float:
        """Return how long the next wait may take, at most `timeout`."""
        left = max(0.001, min(self._deadline, self._next) - time.monotonic())
        return min(limit for limit in (left, timeout, self._silence) if limit is not None)


class Calls:
    """Which call each thread works for; the lines ask it, since a pool hides who uses them."""

    def __init__(self) -> None:
        """Start with none."""
        self._local = threading.local()

    @property
    def current(self) -> Call | None:
        """The call of this thread."""
        found: Call | None = getattr(self._local, "call", None)
        return found

    @contextmanager
    def working(self, call: Call) -> Iterator[None]:
        """Do what this thread does inside the block for `call`."""
        before = self.current
        self._local.call = call
        try:
            yield
        finally:
            self._local.call = before


class Line(httpcore2.NetworkStream):
    """One connection, plain or TLS."""

    def __init__(self, sock: socket.socket, plug: Plug, calls: Calls) -> None:
        """Take a connected socket."""
        self._sock = sock
        self._plug = plug
        self._calls = calls

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Return what has come, at most `max_bytes`."""
        with _mapped(httpcore2.ReadTimeout, httpcore2.ReadError):
            self._sock.settimeout(self._limit(timeout))
            return self._sock.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send everything."""
        view = memoryview(buffer)
        with _mapped(httpcore2.WriteTimeout, httpcore2.WriteError):
            while view:
                self._sock.settimeout(self._limit(timeout))
                view = view[self._sock.send(view) :]

    def _limit(self, timeout: float | None) -> float | None:
        call = self._calls.current
        if call is None:
            return timeout
        call.use(self._plug)
        return call.limit(timeout)

    def close(self) -> None:
        """Close the connection."""
        self._plug.close()
        self._sock.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        """Return the same connection inside TLS."""
        with _mapped(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            try:
                self._sock.settimeout(self._limit(timeout))
                secure = ssl_context.wrap_socket(self._sock, server_hostname=server_hostname)
            except BaseException:
                self.close()
                raise
        return Line(secure, self._plug, self._calls)

    def get_extra_info(self, info: str) -> Any:
        """Return what the pool asks of a connection."""
        if info == "is_readable":
            return self._readable()
        if info == "socket":
            return self._sock
        if info == "ssl_object" and isinstance(self._sock, ssl.SSLSocket):
            return self._sock
        return None

    def _readable(self) -> bool:
        """Say whether bytes or an end wait; on an idle line both mean that it cannot be reused."""
        if self._sock.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return bool(poll.poll(0))


class LineBackend(httpcore2.NetworkBackend):
    """Opens lines for the calls of one client."""

    def __init__(
        self,
        calls: Calls,
        resolve: Resolve = resolve_name,
        connect: Connect = socket.socket.connect,
    ) -> None:
        """Ask `calls` who works in this thread.

        `resolve` gives the addresses of a host, once a connection, and only those are connected
        to: a guard refuses there, by an error of its own, which passes through unchanged.
        `connect` is another one in tests, which stay on loopback.
        """
        self._calls = calls
        self._resolve = resolve
        self._connect_socket = connect

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the base's signature
        socket_options: _Options | None = None,  # noqa: ARG002 - the base's signature
    ) -> httpcore2.NetworkStream:
        """Connect to the first address that answers. Resolving the name cannot be cut."""
        with _mapped(httpcore2.ConnectTimeout, httpcore2.ConnectError):
            failure = OSError(f"{host} has no address")
            for family, kind, proto, _, address in self._resolve(host, port):
                sock = socket.socket(family, kind, proto)
                try:
                    return self._connect(sock, address, timeout)
                except OSError as error:
                    failure = error
            raise failure

    def _connect(self, sock: socket.socket, address: Any, timeout: float | None) -> Line:
        plug = Plug(sock)
        line = Line(sock, plug, self._calls)
        call = self._calls.current
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(call.limit(timeout) if call else timeout)
            if call:
                call.use(plug)
            self._connect_socket(sock, address)
        except BaseException:
            line.close()
            raise
        return line


class LineTransport(httpx2.HTTPTransport):
    """The transport over lines that can be cut. HTTP/1.1 only: a cut needs one call a line."""

    def __init__(self, backend: LineBackend, trust: ssl.SSLContext | None = None) -> None:
        """Build the pool; the library's own constructor has no place for a network backend.

        `trust` is what TLS trusts in place of the house's certificates.
        """
        self._pool = httpcore2.ConnectionPool(
            ssl_context=trust or trusted("http"),
            max_connections=None,
            max_keepalive_connections=_KEPT_LINES,
            keepalive_expiry=_KEPT_SECONDS,
            network_backend=backend,
        )


@contextmanager
def _mapped(timeout: type[Exception], failure: type[Exception]) -> Iterator[None]:
    """Turn what sockets raise into what the pool expects."""
    try:
        yield
    except TimeoutError as error:
        raise timeout(error) from error
    except OSError as error:
        raise failure(error) from error
