"""The HTTP side of the fake Discord: requests read as its documentation has them."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from tests.fakes.discord_server import DiscordServer

_BASE = "/api/v10"
_OPEN = ("/interactions/", "/webhooks/")


class Refusal(Exception):
    """An answer that is an error; `code` is Discord's own number for it."""

    def __init__(self, status: int, message: str, code: int = 0, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"message": message, "code": code} | more
        self.headers: Mapping[str, str] = {}


class RestServer:
    """The server of one fake Discord."""

    def __init__(self, discord: DiscordServer) -> None:
        handler = type("Handler", (_Handler,), {"discord": discord})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}{_BASE}"

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # The five of its base would cut lines off when many come at once.
    request_queue_size = 128

    def handle_error(self, *_: object) -> None:
        """Say nothing of callers that were killed."""


class _Handler(BaseHTTPRequestHandler):
    discord: DiscordServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._act("GET")

    def do_POST(self) -> None:
        self._act("POST")

    def do_PATCH(self) -> None:
        self._act("PATCH")

    def do_PUT(self) -> None:
        self._act("PUT")

    def do_DELETE(self) -> None:
        self._act("DELETE")

    def _act(self, method: str) -> None:
        size = int(self.headers.get("content-length", "0"))
        raw = self.rfile.read(size)
        if len(raw) < size:
            # Its sender died: nothing arrived.
            self.close_connection = True
            return
        parts = urlsplit(self.path)
        if parts.path.startswith("/files/"):
            self._file(parts.path.rpartition("/")[2], parts.query)
            return
        path = unquote(parts.path.removeprefix(_BASE))
        asked, file = self._read(raw, parts.query)
        try:
            self._check(path)
            self.discord.note(method, path, asked)
            result, dropped = self._result(method, path, asked, file)
        except Refusal as refusal:
            self._write(refusal.status, json.dumps(refusal.body).encode(), refusal.headers)
            return
        body = b"" if result is None else json.dumps(result).encode()
        planned = self.discord.bodies.popleft() if self.discord.bodies else body
        if dropped or planned is None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._write(200 if planned else 204, planned, {})

    def _check(self, path: str) -> None:
        if path.startswith(_OPEN):
            return
        if self.headers.get("authorization") != f"Bot {self.discord.token}":
            raise Refusal(401, "401: Unauthorized")
        if not self.headers.get("user-agent", "").startswith("DiscordBot ("):
            self.discord.faults.append("an unknown user agent")

    def _result(
        self, method: str, path: str, asked: dict[str, Any], file: bytes | None
    ) -> tuple[Any, bool]:
        parts = path.split("/")
        if method == "POST" and parts[1] == "channels" and parts[3:] == ["messages"]:
            sent, plan = self.discord.post(parts[2], asked, file)
            return sent, plan.answer is None
        return self.discord.acted(method, path, asked), False

    def _file(self, number: str, query: str) -> None:
        content = self.discord.files.get(number)
        if content is None or "ex=" not in query:
            self._write(404, b"", {})
            return
        self._write(200, content, {})

    def _read(self, raw: bytes, query: str) -> tuple[dict[str, Any], bytes | None]:
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            return _form(kind, raw)
        asked = json.loads(raw) if raw else dict(parse_qsl(query))
        return asked if isinstance(asked, dict) else {"list": asked}, None

    def _write(self, status: int, raw: bytes, headers: Any) -> None:
        try:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if raw or status != 204:
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            # Whoever asked is gone.
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _form(kind: str, raw: bytes) -> tuple[dict[str, Any], bytes | None]:
    """Read a form of two parts, as the email package of Python does."""
    whole = message_from_bytes(b"content-type: " + kind.encode() + b"\r\n\r\n" + raw, policy=HTTP)
    asked: dict[str, Any] = {}
    file: bytes | None = None
    for part in whole.walk():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        if not isinstance(content, bytes):
            continue
        if name == "payload_json":
            asked = json.loads(content)
        elif name == "files[0]":
            file = content
    return asked, file
