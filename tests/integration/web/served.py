"""The web application on a real socket, in this process."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
from werkzeug.serving import WSGIRequestHandler, make_server

from tests.fakes.stack import Stack
from web.application import application


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing."""


@dataclass
class Sse:
    """One event as it came."""

    event: str = "message"
    id: str | None = None
    data: str = ""
    comment: str = ""

    @property
    def json(self) -> dict[str, Any]:
        return dict(json.loads(self.data))


@dataclass
class Served:
    """Serve a stack's container; `client` carries the owner's token."""

    stack: Stack
    clients: list[httpx2.Client] = field(default_factory=list)

    def __enter__(self) -> Self:
        app = application(self.stack.container)
        self.server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=_Quiet)
        self.base_url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.token = self.stack.container.accounts.create_token("test")
        self.client = self.new_client(self.token)
        return self

    def __exit__(self, *_: object) -> None:
        for client in self.clients:
            client.close()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def new_client(self, token: str | None) -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        client = httpx2.Client(base_url=self.base_url, headers=headers, timeout=30, trust_env=False)
        self.clients.append(client)
        return client

    def send(self, text: str, conversation: str = "c", **fields: Any) -> dict[str, Any]:
        """Send a message; returns what was answered."""
        answer = self.client.post(
            "/api/chat", json={"conversation": conversation, "text": text, **fields}
        )
        assert answer.status_code == 202, answer.text
        return dict(answer.json())

    def ask(self, text: str, conversation: str = "c") -> str:
        """Send a message and return its answer."""
        sent = self.send(text, conversation)
        turn = self.client.get(f"/api/turns/{sent['turn']}?wait=20").json()
        assert turn["state"] == "ended"
        return str(turn["reply"]["text"])


def events(response: httpx2.Response) -> Iterator[Sse]:
    """Yield the events of a stream, comments too."""
    current = Sse()
    lines = response.iter_lines()
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if current.data or current.comment:
                yield current
            current = Sse()
        elif not name:
            current.comment = value
        else:
            setattr(current, name, value)
