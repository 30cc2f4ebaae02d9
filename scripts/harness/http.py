"""HTTP as simple clients speak it: one connection a request, every failure is a Cut."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class Cut(Exception):
    """The connection could not be made, or broke before the whole answer was there."""


@dataclass(frozen=True)
class Answer:
    """One whole answer; `headers` are in lower case, `seconds` from the call to its last byte."""

    status: int
    headers: Mapping[str, str]
    body: Any = field(repr=False)
    seconds: float = 0.0


class Api:
    """The HTTP surface with a token. Safe to share between threads."""

    def __init__(self, port: int, token: str) -> None:
        """Speak to a loopback port."""
        self.port = port
        self.token = token

    def get(self, path: str, timeout: float = 30.0) -> Answer:
        """GET a path. Raises Cut."""
        return self._call("GET", path, None, {}, timeout)

    def post(
        self,
        path: str,
        body: Mapping[str, Any],
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Answer:
        """POST JSON. Raises Cut."""
        return self._call("POST", path, _written(body), headers or {}, timeout)

    def post_bytes(
        self, path: str, body: bytes, headers: Mapping[str, str], timeout: float = 30.0
    ) -> Answer:
        """POST a body that was written before, such as a signed one. Raises Cut."""
        return self._call("POST", path, body, headers, timeout)

    def stream(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str], timeout: float = 30.0
    ) -> Stream:
        """POST JSON and read the events of the answer one by one. Raises Cut."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            response = self._send(connection, ("POST", path), _written(body), headers)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Cut(str(error)) from error
        return Stream(connection, response)

    def _call(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        began = time.monotonic()
        try:
            response = self._send(connection, (method, path), body, headers)
            raw = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise Cut(str(error)) from error
        finally:
            connection.close()
        seconds = time.monotonic() - began
        return Answer(response.status, _lower(response), _json(raw), seconds)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        line: tuple[str, str],
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        sent = {"authorization": f"Bearer {self.token}", **headers}
        if body is not None:
            sent["content-type"] = "application/json"
        connection.request(*line, body=body, headers=sent)
        return connection.getresponse()


def request_bytes(port: int, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    """Return a whole POST of JSON, after whose answer the connection ends."""
    lines = [f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{port}", "connection: close"]
    lines += ["content-type: application/json", f"content-length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def exchange(port: int, request: bytes, timeout: float = 30.0) -> Answer:
    """Send what `request_bytes` made on a connection of its own. Raises Cut.

    A load test shares its processors with the server: this costs a third of what http.client does.
    """
    began = time.monotonic()
    raw = bytearray()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as connection:
            connection.sendall(request)
            while piece := connection.recv(65_536):
                raw += piece
    except OSError as error:
        raise Cut(str(error)) from error
    seconds = time.monotonic() - began
    head, _, body = bytes(raw).partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if len(body) != int(headers.get("content-length", -1)):
        raise Cut("the answer is not whole")
    return Answer(int(first.split(" ")[1]), headers, _json(body), seconds)


class Stream:
    """The events of one answer."""

    def __init__(
        self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse
    ) -> None:
        """Take a response whose body was not read."""
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers = _lower(response)

    def body(self) -> Any:
        """Return the whole body of an answer that is no stream."""
        with self._open():
            return _json(self._response.read())

    def data(self) -> Iterator[str]:
        """Yield the data of each event, one line each. Raises Cut when the connection breaks."""
        with self._open():
            while line := self._response.readline():
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if text.startswith("data:"):
                    yield text.removeprefix("data:").strip()

    def close(self) -> None:
        """Go away."""
        self._connection.close()

    def _open(self) -> _Closing:
        return _Closing(self)


class _Closing:
    """Closes a stream at the end and turns the library's failures into Cut."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._stream.close()
        if isinstance(error, OSError | http.client.HTTPException):
            raise Cut(str(error)) from error


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _written(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")
