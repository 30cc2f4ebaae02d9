"""A fake chat platform over a real loopback socket: what the webhook channel sends to.

It remembers what arrived under which key, and shows what its people see: of a repeated key one
message in the mode `keyed` and `read-back`, every one in `plain`. Plans, one for each POST in its
order, make it do something else than take the message.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from standardwebhooks.webhooks import Webhook

Mode = Literal["keyed", "read-back", "plain"]


@dataclass(frozen=True)
class Plan:
    """What happens to one POST.

    `take`: the message arrives. `answer`: a status with headers follows; None drops the line.
    """

    take: bool = True
    answer: int | None = 200
    headers: Mapping[str, str] = field(default_factory=dict)


TAKE = Plan()
DROP_AFTER = Plan(answer=None)
DROP_BEFORE = Plan(take=False, answer=None)


def refuse(status: int, **headers: str) -> Plan:
    """Answer with a status and take nothing; `retry_after` becomes Retry-After."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Plan(take=False, answer=status, headers=named)


@dataclass(frozen=True)
class Shown:
    """One message as people of the platform see it."""

    key: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.body["text"])


class Platform:
    """The server with what it saw. Lists only grow, so tests may read them at any time."""

    def __init__(self, secret: str, mode: Mode = "plain", port: int = 0) -> None:
        self.secret = secret
        self.mode: Mode = mode
        self.plans: deque[Plan] = deque()
        self.posts: list[Shown] = []
        self.shown: list[Shown] = []
        self.faults: list[str] = []
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"platform": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/in"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self.serve)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def serve(self) -> None:
        """Serve until it is shut down."""
        self._server.serve_forever(0.02)

    def post(self, headers: Mapping[str, str], body: bytes) -> Plan:
        """Judge one POST and do what its plan says."""
        with self._lock:
            plan = self.plans.popleft() if self.plans else TAKE
            try:
                # The foreign program checks what we signed.
                message = Webhook(self.secret).verify(body, dict(headers))
            except Exception as error:
                self.faults.append(f"{type(error).__name__}: {error}")
                return refuse(401)
            arrived = Shown(headers["idempotency-key"], message)
            self.posts.append(arrived)
            if plan.take:
                self._show(arrived)
            return plan

    def has(self, key: str) -> bool:
        """Whether a message arrived under this key."""
        return any(one.key == key for one in self.shown)

    def _show(self, arrived: Shown) -> None:
        if self.mode == "keyed" and self.has(arrived.key):
            return
        self.shown.append(arrived)


class _Handler(BaseHTTPRequestHandler):
    platform: Platform
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        size = int(headers.get("content-length", "0"))
        body = self.rfile.read(size)
        if len(body) < size:
            # Its sender died: nothing arrived.
            self.close_connection = True
            return
        plan = self.platform.post(headers, body)
        if plan.answer is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._answer(plan.answer, {"id": f"p{len(self.platform.posts)}"}, plan.headers)

    def do_GET(self) -> None:
        key = self.headers.get("idempotency-key", "")
        found = self.platform.mode == "read-back" and self.platform.has(key)
        self._answer(200 if found else 404, {"id": f"of {key}"}, {})

    def _answer(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
