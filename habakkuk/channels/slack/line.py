"""One line to Slack in Socket Mode: the SDK's client over a websocket of ours.

The SDK's own sockets keep five threads and reorder what comes; its built-in one goes round without
rest when the other side is gone, and the others leave a line before the next one stands. So this
is its base class, with one line that is read by who waits for it.
https://docs.slack.dev/apis/events-api/using-socket-mode
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic_core import from_json
from slack_sdk.socket_mode.client import BaseSocketModeClient
from websockets.exceptions import InvalidURI, WebSocketException
from websockets.sync.client import ClientConnection, connect

from habakkuk.channels.slack.client import Client, part, quiet_logger
from habakkuk.core.errors import ChannelError
from habakkuk.core.trust import trusted

_OPEN_SECONDS = 5.0
# Slack pings, too; ours tell that the line is alive while nothing is written.
_PING_SECONDS, _PONG_SECONDS = 10.0, 20.0
_CLOSE_SECONDS = 1.0
# Far more than an envelope of Slack's may have.
_LARGEST = 8_000_000
_ENDED = "the line to Slack ended"


class Line(BaseSocketModeClient):
    """A line of one app, to be used in one thread; `cut` in any."""

    logger = quiet_logger()

    def __init__(self, app_token: str, client: Client) -> None:
        """Connect to nothing yet."""
        self.app_token = app_token
        self.web_client: Client = client
        self._now: ClientConnection | None = None
        self._before: ClientConnection | None = None
        self._read: ClientConnection | None = None
        self._latency = 0.0

    def issue_new_wss_url(self) -> str:
        """Ask for the address of a new line. Raises Refused and Lost; it is never waited here."""
        client = self.web_client
        url = part(client.apps_connections_open(app_token=self.app_token).data).get("url")
        if not isinstance(url, str):
            raise ChannelError("Slack names no address for the line", retryable=True)
        # What is said on the line is what people write, and who holds it speaks for the app.
        if not client.is_slacks_line(url):
            raise ChannelError("the address for the line does not lead to Slack", retryable=True)
        return url

    def is_connected(self) -> bool:
        """Say whether there is a line."""
        return self._now is not None

    def connect(self) -> None:
        """Open a line. Raises Refused, Lost and ChannelError; one that stands is kept beside it."""
        url = self.issue_new_wss_url()
        try:
            opened = connect(
                url,
                ssl=trusted("slack") if url.startswith("wss:") else None,
                proxy=None,
                # To have it at once: lines overlap, so none is the block of a `with`.
                legacy=True,
                compression=None,
                open_timeout=_OPEN_SECONDS,
                ping_interval=_PING_SECONDS,
                ping_timeout=_PONG_SECONDS,
                close_timeout=_CLOSE_SECONDS,
                max_size=_LARGEST,
            )
        except (OSError, InvalidURI, WebSocketException) as error:
            # The address is a secret for as long as it is good.
            reason = f"the line to Slack could not be opened ({type(error).__name__})"
            raise ChannelError(reason, retryable=True) from None
        self._leave()
        self._now, self._before = opened, self._now

    def renew(self) -> None:
        """Open the next line when the one that was read last is to end, and is the newest."""
        if self._read is self._now:
            self.connect()

    def read(self, seconds: float) -> Mapping[str, Any] | None:
        """Return what came on the older line, then on this one; None when nothing did.

        Raises ChannelError when the line has ended.
        """
        if self._before is not None:
            with suppress(WebSocketException, TimeoutError):
                return self._received(self._before, 0)
            self._leave()
        if self._now is None:
            raise ChannelError(_ENDED, retryable=True)
        try:
            return self._received(self._now, seconds)
        except TimeoutError:
            return None
        except WebSocketException:
            raise ChannelError(_ENDED, retryable=True) from None

    def heard(self) -> bool:
        """Say whether Slack has answered a ping since this was asked before."""
        latency = self._now.latency if self._now is not None else 0.0
        changed, self._latency = latency != self._latency, latency
        return changed

    def send_message(self, message: str) -> None:
        """Answer on the line that was read last; one that has ended brings it again elsewhere."""
        if self._read is not None:
            with suppress(WebSocketException, OSError):
                self._read.send(message)

    def cut(self) -> None:
        """Let whoever reads return at once."""
        for line in (self._before, self._now):
            if line is not None:
                with suppress(OSError):
                    line.socket.shutdown(socket.SHUT_RDWR)

    def disconnect(self) -> None:
        """End the line."""
        self._leave()
        line, self._now = self._now, None
        if line is not None:
            line.close()

    def close(self) -> None:
        """End the line for good."""
        self.disconnect()

    def _received(self, line: ClientConnection, seconds: float) -> Mapping[str, Any]:
        received = line.recv(timeout=seconds)
        self._read = line
        return _object(received)

    def _leave(self) -> None:
        line, self._before = self._before, None
        if line is not None:
            line.close()


def _object(received: str | bytes) -> Mapping[str, Any]:
    try:
        found: object = from_json(received)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
