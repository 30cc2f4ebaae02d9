"""A fake model server over a real loopback socket, in the four wire formats.

In a test: `with ModelServer() as server: server.base_url`. For drills, in a process of its own:
`python -m tests.fakes.model_server --port 9100 --control`, where GET /control/requests tells what
came. What it answers is in tests/fakes/model_script.py; a `script` can replace that by request, and
must in the formats of Responses and Gemini, in which it has no words of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.fakes.gemini_rules import gemini_violations
from tests.fakes.messages_rules import messages_violations
from tests.fakes.model_messages import MessagesScript
from tests.fakes.model_script import Cut, Delay, Part, Reply, Script, Stall, last_user_text
from tests.fakes.responses_rules import responses_violations
from tests.fakes.transcript_rules import violations

_MODELS = ("fake-model", "other-model")


@dataclass(frozen=True)
class Recorded:
    """One request as it came; `time` is time.time() at its end."""

    id: int
    time: float
    path: str
    headers: dict[str, str]
    body: dict[str, Any] = field(repr=False)

    @property
    def text(self) -> str:
        """The last user message's text."""
        return last_user_text(self.body.get("messages") or [])

    def summary(self) -> dict[str, Any]:
        """Return what /control/requests shows."""
        messages = self.body.get("messages") or []
        return {"id": self.id, "time": self.time, "text": self.text, "messages": len(messages)}


@dataclass(frozen=True)
class _Wire:
    """A path's wire format: how it answers by itself, and what it demands of a request."""

    script: Callable[[dict[str, Any]], Script] | None
    violations: Callable[[dict[str, Any]], list[str]]


_WIRES = {
    "/v1/chat/completions": _Wire(Script, violations),
    "/v1/messages": _Wire(MessagesScript, messages_violations),
    "/v1/responses": _Wire(None, responses_violations),
}
_GEMINI_PATH = re.compile(r"/v1\w*/models/[^/?:]+:streamGenerateContent\?alt=sse")
_GEMINI = _Wire(None, gemini_violations)
Scripted = Callable[[Recorded], Reply | None]


class ModelServer:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(
        self, script: Scripted | None = None, port: int = 0, control: bool = False
    ) -> None:
        """Bind the port at once, so that `base_url` is known; serving starts with `with`."""
        self.script = script
        self.control = control
        self.requests: list[Recorded] = []
        self.disconnects: list[float] = []
        self.violations: list[str] = []
        self.connections = 0
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self._server = _Server(self, port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a provider's base_url is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        """Serve in a thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and close what is still open."""
        self.close()

    def close(self) -> None:
        """Stop, and close what is still open."""
        self.stopping.set()
        self._server.shutdown()
        self._server.drop_all()
        self._server.server_close()
        self._thread.join()

    def wrap(self, context: ssl.SSLContext) -> None:
        """Speak TLS from the next connection on."""
        self._server.tls = context

    def wait_for(self, condition: Callable[[], bool], seconds: float = 10.0) -> None:
        """Return when `condition` holds; raises TimeoutError after `seconds`."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError("the fake model server did not see what was awaited")
            time.sleep(0.002)

    def record(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Recorded:
        """Keep a request and what is wrong with it."""
        with self.lock:
            recorded = Recorded(len(self.requests), time.time(), path, headers, body)
            self.requests.append(recorded)
            return recorded


class _Server(ThreadingHTTPServer):
    """Counts connections, and can close them all."""

    daemon_threads = True
    block_on_close = True
    request_queue_size = 256

    def __init__(self, owner: ModelServer, port: int) -> None:
        self.owner = owner
        self.open_sockets: set[socket.socket] = set()
        self.tls: ssl.SSLContext | None = None
        super().__init__(("127.0.0.1", port), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        accepted, address = super().get_request()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self.owner.lock:
            self.owner.connections += 1
            self.open_sockets.add(accepted)
        return accepted, address

    def shutdown_request(self, request: Any) -> None:
        with self.owner.lock:
            self.open_sockets.discard(request)
        super().shutdown_request(request)

    def drop_all(self) -> None:
        with self.owner.lock:
            still_open = list(self.open_sockets)
        for one in still_open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a client that went is what many tests are about."""

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Shake hands in the connection's own thread."""
        if self.tls is None:
            return super().finish_request(request, client_address)
        with self.tls.wrap_socket(request, server_side=True) as secure:
            super().finish_request(secure, client_address)
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        owner = self.server.owner
        if self.path == "/v1/models":
            return self._json(
                200, {"object": "list", "data": [{"id": m, "object": "model"} for m in _MODELS]}
            )
        if self.path == "/control/requests" and owner.control:
            requests = [request.summary() for request in list(owner.requests)]
            seen = {"disconnects": list(owner.disconnects), "violations": list(owner.violations)}
            return self._json(200, {"requests": requests, **seen})
        return self._json(404, {"error": {"message": f"no such path {self.path}", "code": None}})

    def do_POST(self) -> None:
        owner = self.server.owner
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        wire = _GEMINI if _GEMINI_PATH.fullmatch(self.path) else _WIRES.get(self.path)
        if wire is None:
            return self._json(
                404, {"error": {"message": f"no such path {self.path}", "code": None}}
            )
        body = json.loads(raw)
        recorded = owner.record(self.path, {k.lower(): v for k, v in self.headers.items()}, body)
        if wrong := wire.violations(body):
            owner.violations.extend(f"request {recorded.id}: {fault}" for fault in wrong)
            error = {"message": "; ".join(wrong), "type": "invalid_request_error", "code": None}
            return self._json(400, {"error": error})
        scripted = owner.script(recorded) if owner.script else None
        if scripted is None and wire.script is not None:
            scripted = wire.script(body).reply()
        if scripted is None:
            return self._json(501, {"error": {"message": "no script says what to answer"}})
        return self._send(scripted)

    def _json(self, status: int, value: Any) -> None:
        self._send(
            Reply([json.dumps(value).encode()], status=status, content_type="application/json")
        )

    def _send(self, reply: Reply) -> None:
        if not self._write(reply.before, chunked=False):
            return
        self.send_response(reply.status)
        self.send_header("content-type", reply.content_type)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        chunked = reply.framing == "chunked"
        self.close_connection = not chunked
        self.send_header(
            *(("transfer-encoding", "chunked") if chunked else ("connection", "close"))
        )
        self.end_headers()
        if self._write(reply.parts, chunked=chunked) and chunked:
            self._raw(b"0\r\n\r\n")

    def _write(self, parts: Iterable[Part], *, chunked: bool) -> bool:
        """Send the parts; False when the exchange ended before them."""
        for part in parts:
            if isinstance(part, Delay):
                alive = self._wait(part.seconds)
            elif isinstance(part, Stall):
                alive = self._wait(None)
            elif isinstance(part, Cut):
                alive = False
            else:
                alive = self._raw(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
            if not alive:
                self.close_connection = True
                return False
        return True

    def _raw(self, data: bytes) -> bool:
        try:
            self.wfile.write(data)
        except OSError:
            self.server.owner.disconnects.append(time.time())
            return False
        return True

    def _wait(self, seconds: float | None) -> bool:
        """Wait, for ever with None; False as soon as the client closed its side."""
        owner = self.server.owner
        end = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()
        poll.register(self.connection, select.POLLIN | select.POLLHUP)
        while not owner.stopping.is_set():
            left = 0.05 if end is None else min(0.05, end - time.monotonic())
            if left <= 0:
                return True
            if poll.poll(max(1, int(left * 1000))) and self._gone():
                owner.disconnects.append(time.time())
                return False
        return False

    def _gone(self) -> bool:
        try:
            if isinstance(self.connection, ssl.SSLSocket):
                # Nothing is ever sent after a request here: what comes is the end.
                return not self.connection.recv(1)
            return not self.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--control", action="store_true", help="answer GET /control/requests")
    arguments = parser.parse_args()
    with ModelServer(port=arguments.port, control=arguments.control) as server:
        print(server.base_url, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
