"""A web server on loopback that answers what a test tells it, and a network around it."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from habakkuk.core.addresses import AddressInfo, is_of_this_machine
from habakkuk.core.outside import OutsideHttp

PUBLIC = "93.184.216.34"
_HEAD_LIMIT = 65_536


def response(
    body: bytes = b"fine", kind: str = "text/plain", *, status: str = "200 OK", more: bytes = b""
) -> bytes:
    """Return the bytes of one answer; `more` are header lines, each with its line end."""
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n"
    return head.encode() + more + b"connection: close\r\n\r\n" + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    """Return a redirect, its location as the bytes that a careless server would send."""
    return response(
        b"", status=status, more=b"location: " + location.encode("utf-8", "surrogatepass") + b"\r\n"
    )


@dataclass
class Seen:
    """One request as it came."""

    line: str
    headers: Mapping[str, str]


Answer = bytes | Callable[[Seen], bytes]


@dataclass
class PageServer:
    """Answers by path, or by host and path; 404 otherwise."""

    answers: dict[str, Answer] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0

    def serve(self, conversation: socket.socket) -> None:
        """Answer one request."""
        with conversation:
            raw = b""
            while b"\r\n\r\n" not in raw and len(raw) < _HEAD_LIMIT:
                chunk = conversation.recv(4096)
                if not chunk:
                    return
                raw += chunk
            lines = raw.decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value
                for name, _, value in (line.partition(": ") for line in lines[1:] if line)
            }
            seen = Seen(lines[0], headers)
            self.seen.append(seen)
            path = lines[0].split(" ")[1]
            answer = self.answers.get(headers.get("host", "") + path) or self.answers.get(path)
            if answer is None:
                answer = response(b"nothing here", status="404 Not Found")
            conversation.sendall(answer if isinstance(answer, bytes) else answer(seen))


@contextmanager
def page_server() -> Iterator[PageServer]:
    """Run a server on loopback."""
    server = PageServer()
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listening:
        server.port = listening.getsockname()[1]
        thread = threading.Thread(target=_accept, args=(listening, server), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            # Wakes the accept: closing alone does not.
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)


def _accept(listening: socket.socket, server: PageServer) -> None:
    while True:
        try:
            conversation, _ = listening.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(server, conversation), daemon=True).start()


def _serve(server: PageServer, conversation: socket.socket) -> None:
    try:
        server.serve(conversation)
    except OSError:
        return


@dataclass
class FakeNetwork:
    """Resolves from a table and connects every address to the server on loopback.

    Numbers in any spelling go through the system's own reading of them, which asks nobody. Each
    name has a list of answers, one for each time it is asked; the last one stays. `elsewhere` is
    what other names answer, None that there are none. `connected` is what would have been
    connected to.
    """

    port: int
    names: dict[str, list[Sequence[str]]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)
    elsewhere: str | None = None

    def resolve(self, host: str, port: int) -> Sequence[AddressInfo]:
        """Answer as getaddrinfo does."""
        self.asked.append(host)
        answers = self.names.get(host)
        if answers is None:
            return self._other(host, port)
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        return [info for address in found for info in _numeric(address, port)]

    def _other(self, host: str, port: int) -> Sequence[AddressInfo]:
        try:
            return _numeric(host, port)
        except OSError:
            if self.elsewhere is None:
                raise
            return _numeric(self.elsewhere, port)

    def connect(self, sock: socket.socket, address: Any) -> None:
        """Note the address and connect to the server instead."""
        self.connected.append(str(address[0]))
        if sock.family != socket.AF_INET:
            raise ConnectionRefusedError("the test has no server of this family")
        sock.connect(("127.0.0.1", self.port))

    def web(self, own_names: Sequence[str] = (), own_addresses: Sequence[str] = ()) -> OutsideHttp:
        """Return the guarded client on this network, of a server with these names and addresses."""

        def is_own(address: str) -> bool:
            return is_of_this_machine(address) or address in own_addresses

        return OutsideHttp(self.resolve, self.connect, own_names, is_own, _trust_nobody)


def _trust_nobody() -> ssl.SSLContext:
    """Return a context without certificates: reading the system's takes 0.1 s."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _numeric(host: str, port: int) -> Sequence[AddressInfo]:
    try:
        return socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, 0, socket.AI_NUMERICHOST)
    except UnicodeError as error:
        raise OSError(f"{host} is no host name") from error
