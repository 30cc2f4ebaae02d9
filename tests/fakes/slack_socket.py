"""Slack's side of Socket Mode, over real websockets, from its public documentation.

Each envelope goes out on one of the app's lines. What is not acknowledged within three seconds, or
whose line ends before, is brought again: at once, after a minute and after five (shorter here), and
then never more. A line's address is good once.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import Server, ServerConnection, serve

_TICK_SECONDS = 0.02


@dataclass
class Envelope:
    """One thing to bring. `number` names it on the line; each time it goes out it is another."""

    type: str
    payload: Mapping[str, Any]
    due: float
    attempt: int = 0
    number: str = ""
    line: ServerConnection | None = None
    sent: float = 0.0
    numbers: set[str] = field(default_factory=set)

    def written(self) -> str:
        """Return it as it stands on the line."""
        told: dict[str, Any] = {
            "envelope_id": self.number,
            "type": self.type,
            "payload": self.payload,
        }
        told["accepts_response_payload"] = self.type != "events_api"
        if self.type == "events_api":
            told |= {
                "retry_attempt": self.attempt,
                "retry_reason": "timeout" if self.attempt else "",
            }
        return json.dumps(told)


class SlackSocket:
    """The lines of one app."""

    def __init__(self, retries: tuple[float, ...]) -> None:
        self.retries = retries
        # https://docs.slack.dev/apis/events-api/using-socket-mode, "Acknowledge events"
        self.ack_seconds = 3.0
        self.lines: list[ServerConnection] = []
        self.opened = 0
        self.tickets: set[str] = set()
        # Told instead of this server's.
        self.address = ""
        self.pending: list[Envelope] = []
        self.brought: list[Envelope] = []
        # What was acknowledged too late or never while its line stood.
        self.late: list[str] = []
        # What was given up.
        self.lost: list[Mapping[str, Any]] = []
        self.changed = threading.Condition()
        self._server: Server = serve(self._serve, "127.0.0.1", 0)
        self._port = self._server.socket.getsockname()[1]
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._server.serve_forever),
            threading.Thread(target=self._bring),
        ]

    def start(self) -> None:
        """Listen, and bring."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End every line."""
        self._ended.set()
        self._server.shutdown()
        self.drop_all()
        for thread in self._threads:
            thread.join()

    def ticket(self) -> str:
        """Return the address of one new line."""
        made = uuid.uuid4().hex
        with self.changed:
            self.tickets.add(made)
        return self.address or f"ws://127.0.0.1:{self._port}/link/?ticket={made}&app_id=A1"

    def put(self, kind: str, payload: Mapping[str, Any], delay: float = 0.0) -> None:
        """Bring something as soon as there is a line, after `delay` seconds."""
        with self.changed:
            self.pending.append(Envelope(kind, payload, time.monotonic() + delay))
            self.changed.notify_all()

    def wait_no_longer(self) -> None:
        """Let the time be over in which what went out is acknowledged."""
        with self.changed:
            for envelope in self.pending:
                envelope.sent = -self.ack_seconds

    def say(self, **told: Any) -> None:
        """Write something on every line that is no envelope, such as type="disconnect"."""
        with self.changed:
            lines = list(self.lines)
        for line in lines:
            line.send(json.dumps(told))

    def drop_all(self) -> None:
        """Cut every line."""
        with self.changed:
            lines = list(self.lines)
        for line in lines:
            line.socket.close() if self._ended.is_set() else line.close()

    def _serve(self, line: ServerConnection) -> None:
        asked = parse_qs(urlsplit(line.request.path).query) if line.request else {}
        with self.changed:
            ticket = asked.get("ticket", [""])[0]
            if ticket not in self.tickets:
                return
            self.tickets.discard(ticket)
            self.opened += 1
        hello = {"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}}
        line.send(json.dumps(hello))
        with self.changed:
            self.lines.append(line)
            self.changed.notify_all()
        try:
            for message in line:
                self._acknowledged(json.loads(message))
        except (ConnectionClosed, OSError):
            pass
        finally:
            with self.changed:
                self.lines.remove(line)
                self.changed.notify_all()

    def _acknowledged(self, told: Mapping[str, Any]) -> None:
        with self.changed:
            for envelope in [one for one in self.pending if told["envelope_id"] in one.numbers]:
                if told["envelope_id"] == envelope.number:
                    self._judge(envelope)
                self.pending.remove(envelope)
                self.brought.append(envelope)
            self.changed.notify_all()

    def _judge(self, envelope: Envelope) -> None:
        taken = time.monotonic() - envelope.sent
        if taken > self.ack_seconds:
            self.late.append(f"{envelope.type} after {taken:.1f} s")

    def _bring(self) -> None:
        while not self._ended.wait(_TICK_SECONDS):
            with self.changed:
                for envelope in list(self.pending):
                    self._look_at(envelope)
                self.changed.notify_all()

    def _look_at(self, envelope: Envelope) -> None:
        now = time.monotonic()
        if envelope.line is not None:
            gone = envelope.line not in self.lines
            if not gone and now - envelope.sent <= self.ack_seconds:
                return
            if not gone:
                self.late.append(f"{envelope.type} was not acknowledged")
            self._again(envelope, now)
        elif envelope.due <= now:
            self._go(envelope, now)

    def _go(self, envelope: Envelope, now: float) -> None:
        if not self.lines:
            self._again(envelope, now)
            return
        envelope.number = uuid.uuid4().hex
        envelope.numbers.add(envelope.number)
        envelope.line, envelope.sent = self.lines[-1], now
        try:
            envelope.line.send(envelope.written())
        except (ConnectionClosed, OSError):
            self._again(envelope, now)

    def _again(self, envelope: Envelope, now: float) -> None:
        envelope.line = None
        if envelope.attempt >= len(self.retries):
            self.pending.remove(envelope)
            self.lost.append(envelope.payload)
            return
        envelope.due = now + self.retries[envelope.attempt]
        envelope.attempt += 1
