"""Socket Mode: what happens in a workspace, over a line that the app opens (cases: K11, K12).

Bolt takes each envelope, and acknowledges what its app answers with 200. The app is one middleware
that hands over what the envelope tells and answers once that is stored. What is not stored is not
acknowledged, so Slack brings it again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn

from slack_bolt import App, BoltRequest, BoltResponse
from slack_bolt.adapter.socket_mode.internals import run_bolt_app, send_response
from slack_bolt.middleware import Middleware
from slack_sdk import WebClient
from slack_sdk.socket_mode.request import SocketModeRequest

from habakkuk.channels.contract import WebhookUnreadable
from habakkuk.channels.messages import Event
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.polling import ChannelPoller, Door, Unusable
from habakkuk.channels.slack import failures, wire
from habakkuk.channels.slack.adapter import SlackAdapter
from habakkuk.channels.slack.backlog import Backlog
from habakkuk.channels.slack.client import Client, Refused, quiet_logger
from habakkuk.channels.slack.line import Line
from habakkuk.channels.slack.places import Places
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.slack")
_LOOK_SECONDS = 5.0
_STORED, _NOT_STORED = 200, 503
_DISCONNECT = "disconnect"
_DISABLED = "link_disabled"
# A token that Slack does not take, or an app that may not open a line.
_CLOSED = failures.CLOSED | {"no_permission", "missing_scope", "forbidden_team", "access_denied"}
_SWITCHED_OFF = (
    "Socket Mode is switched off for the app: switch it on at the app's page, or use"
    " signing_secret_env instead of app_token_env"
)


class SlackPoller(ChannelPoller):
    """Listens to one app. The adapter's app token must be used by nobody else."""

    silence = 60.0
    adapter: SlackAdapter

    def run(self, door: Door, interrupt: Interrupt) -> None:
        """Listen until the line ends or it is interrupted."""
        adapter = self.adapter
        token = adapter.app_token or ""
        line = Line(token, Client(token, adapter.settings.api_url, adapter.http))
        try:
            with interrupt.freeing(line.cut):
                with _naming("bot_token_env"):
                    adapter.workspaces.own.knowledge.me()
                with _naming("app_token_env"):
                    line.connect()
                door.alive()
                _Listening(line, door, interrupt, adapter).run()
        finally:
            line.close()


@contextmanager
def _naming(setting: str) -> Iterator[None]:
    """Let failures say whose token it was. Raises Unusable and ChannelError."""
    try:
        yield
    except Refused as refused:
        if refused.code in _CLOSED:
            raise Unusable(f"{setting}: {failures.said(refused)}") from None
        raise ChannelError(
            failures.said(refused), retryable=True, retry_after=refused.retry_after
        ) from None
    except Lost as lost:
        raise ChannelError(lost.why, retryable=True) from None


class _Listening:
    """One run of a poller."""

    def __init__(self, line: Line, door: Door, interrupt: Interrupt, adapter: SlackAdapter) -> None:
        self._line = line
        self._door = door
        self._interrupt = interrupt
        places = Places(door.cursor(), adapter.identity)
        reader = adapter.reader
        self._backlog = Backlog(places, adapter.workspaces, reader, door, interrupt)
        taking = _Taking(door, interrupt, reader, places, self._backlog)
        self._app = _app(line.web_client, taking)

    def run(self) -> None:
        """Read and hand over. Raises ChannelError, Unusable and Interrupted."""
        while True:
            try:
                told = self._line.read(self._backlog.left(_LOOK_SECONDS))
            except ChannelError:
                self._interrupt.check()
                raise
            self._interrupt.check()
            if told is not None or self._line.heard():
                self._door.alive()
            if told is not None:
                self._envelope(told)
            self._backlog.step()

    def _envelope(self, told: Mapping[str, Any]) -> None:
        if told.get("type") == _DISCONNECT:
            if told.get("reason") == _DISABLED:
                raise Unusable(_SWITCHED_OFF)
            # Slack renews its lines every few hours: the next stands before this one is left.
            with _naming("app_token_env"):
                self._line.renew()
            return
        request = SocketModeRequest.from_dict(dict(told))
        if request is not None:
            send_response(self._line, request, run_bolt_app(self._app, request), time.time())


def _app(client: WebClient, taking: Middleware) -> App:
    """Return an app that answers by one middleware, before anybody would have to be authorized."""
    app = App(
        client=client,
        token_verification_enabled=False,
        before_authorize=taking,
        signing_secret="",
        logger=quiet_logger(),
    )
    # Else it keeps what is raised to itself, and the envelope is lost after Slack's last try.
    app.error(_raised)
    return app


def _raised(error: Exception) -> NoReturn:
    raise error


class _Taking(Middleware):
    """Hands over what an envelope tells."""

    def __init__(
        self,
        door: Door,
        interrupt: Interrupt,
        reader: wire.Reader,
        places: Places,
        backlog: Backlog,
    ) -> None:
        self._door = door
        self._interrupt = interrupt
        self._reader = reader
        self._places = places
        self._backlog = backlog

    def process(
        self,
        *,
        req: BoltRequest,
        resp: BoltResponse,  # noqa: ARG002 - the base's signature
        next: Callable[[], BoltResponse],  # noqa: ARG002 - the base's signature
    ) -> BoltResponse:
        """Store it; without that the answer is no acknowledgement."""
        try:
            events = self._reader.events(req.body)
        except WebhookUnreadable as error:
            # It would be as unreadable the next time.
            _log.error("an envelope cannot be read", reason=str(error))
            events = []
        except ChannelError as error:
            _log.warning("an envelope has to come again", reason=str(error))
            return BoltResponse(status=_NOT_STORED)
        for event in events:
            self._backlog.before(event)
            self._store(event)
        return BoltResponse(status=_STORED)

    def _store(self, event: Event) -> None:
        """Hand an event over, as often as it takes."""
        cursor = self._places.passed(event)
        ChannelPoller.hand_over(partial(self._door.take, event, cursor), self._interrupt)
