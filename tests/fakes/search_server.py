"""Search services on loopback, over TLS, told apart by their names."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from habakkuk.core.outside import OutsideHttp
from tests.fakes.pages import PUBLIC, FakeNetwork

_CERTIFICATE = Path(__file__).with_name("tls") / "loopback.pem"


@dataclass(frozen=True)
class Asked:
    """One request as it came; `fields` are those of its query or form."""

    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    fields: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Told:
    """One answer."""

    body: bytes = b"{}"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"


def told(value: object) -> Told:
    """Return a value as an answer of JSON."""
    return Told(json.dumps(value).encode())


Answer = Told | Callable[[Asked], Told]


@dataclass
class SearchServer:
    """Answers by host; 404 otherwise."""

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    def answer(self, asked: Asked) -> Told:
        """Note a request and return its answer."""
        self.asked.append(asked)
        found = self.answers.get(asked.host, Told(b"nothing here", 404, kind="text/plain"))
        return found if isinstance(found, Told) else found(asked)

    def web(self) -> OutsideHttp:
        """Return the guarded client on a network where every name is this server."""
        network = FakeNetwork(self.port, elsewhere=PUBLIC)
        return OutsideHttp(network.resolve, network.connect, trust=_trust_all)


def _trust_all() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


@contextmanager
def search_server() -> Iterator[SearchServer]:
    """Run one on loopback."""
    state = SearchServer()
    server = _Server(state)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, state: SearchServer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.load_cert_chain(_CERTIFICATE)

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the thread of the request: a handshake that never comes holds up nobody else.
        with self._tls.wrap_socket(request, server_side=True) as wrapped:
            super().finish_request(wrapped, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that cut their line are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def _do(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        form = body.decode() if "urlencoded" in self.headers.get("content-type", "") else ""
        given = parse_qs(parts.query) | parse_qs(form)
        asked = Asked(
            self.command,
            self.headers.get("host", ""),
            parts.path,
            {name.lower(): value for name, value in self.headers.items()},
            {name: values[0] for name, values in given.items()},
            body,
        )
        answer = self.server.state.answer(asked)
        self.send_response(answer.status)
        for name, value in {"Content-Type": answer.kind, **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = _do  # noqa: N815 - as the base class calls them

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
