"""One bot's methods, called from synchronous code through its SDK.

Addresses of the Bot API hold the token, and the SDK's errors may hold addresses. So every failure
becomes one of the two below, which tell what is known and nothing else (security case 35).
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import quote

import orjson
from pydantic import BaseModel, ValidationError
from telegram import Bot
from telegram.error import NetworkError, TelegramError
from telegram.request import HTTPXRequest

from habakkuk.channels import outcomes
from habakkuk.channels.contract import Bounds
from habakkuk.core.aio import PORTAL
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.trust import trusted

_T = TypeVar("_T")
_CONNECT_SECONDS = 3.0
# As many as one worker sends at once, and shows typing.
_CONNECTIONS = 40
# Shorter than what a stopping process may take: a send that has begun is finished.
_ANSWER_SECONDS = 5.0
CALL_SECONDS = 6.0
# What a long poll may take beyond the time for which Telegram holds it.
_HOLD_MARGIN_SECONDS = 10.0
# What the SDK's client names failures before the first byte of a request has left.
_BEFORE_SENDING = {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol"}
_LONGEST_WAIT = 3600
_BAD_REQUEST = 400


class Refused(outcomes.Refused, TelegramError):
    """Telegram answered, and did not do it. `moved_to`: the chat has this id now."""

    def __init__(self, status: int, description: str = "", details: _Details | None = None) -> None:
        """Keep what Telegram says."""
        details = details or _Details()
        super().__init__(status, description, details.wait)
        self.moved_to = details.migrate_to_chat_id


class Lost(outcomes.Lost, TelegramError):
    """No usable answer came. The SDK lets its own errors alone through as they are."""


class Client:
    """Calls the Bot API for one token. Thread-safe; its connections are used again."""

    def __init__(self, token: str, api_url: str) -> None:
        """Connect to nothing yet."""
        self._token = token
        self._api_url = api_url.rstrip("/")
        self._bots: dict[int, Bot] = {}
        self._lock = threading.Lock()

    def call(
        self,
        ask: Callable[[Bot], Coroutine[Any, Any, _T]],
        interrupt: Interrupt | None = None,
        seconds: float = CALL_SECONDS,
    ) -> _T:
        """Call one method. Raises Refused, Lost and Interrupted.

        Without an interrupt the call ends as it ends: a send that is cut off has no outcome.
        """
        try:
            return PORTAL.run(ask(self._bot()), interrupt or Interrupt(), seconds)
        except TimeoutError:
            raise Lost(f"Telegram did not answer within {seconds:g} s", sent=True) from None
        except (Refused, Lost):
            raise
        except (TelegramError, TypeError, KeyError, ValueError):
            # The SDK could not read what it got; its errors may quote anything.
            raise Lost("Telegram's answer could not be read", sent=True) from None

    def updates(
        self, offset: int | None, kinds: Sequence[str], hold: float, interrupt: Interrupt
    ) -> Sequence[Any]:
        """Return what happened from an update id on, as JSON; waits up to `hold` seconds for it.

        It is read by ourselves: what the SDK cannot read would be fetched, and fail, for ever.
        """
        asked = {"timeout": round(hold), "allowed_updates": list(kinds)}
        if offset is not None:
            asked["offset"] = offset
        seconds = hold + _HOLD_MARGIN_SECONDS
        found = self.call(
            # The underscore at the end says that the raw answer is wanted on purpose.
            lambda bot: bot.do_api_request("get_updates_", asked, read_timeout=seconds),
            interrupt,
            seconds + _CONNECT_SECONDS,
        )
        return found if isinstance(found, list) else []

    def place(self, file_id: str, bounds: Bounds) -> tuple[str, int]:
        """Return the address of a file, which holds the token, and its size, 0 when that is untold.

        Raises Refused, Lost and Interrupted.
        """
        seconds = min(CALL_SECONDS, bounds.left())
        found = self.call(lambda bot: bot.get_file(file_id), bounds.interrupt, seconds)
        path = found.file_path or ""
        if not path.startswith(self._files):
            # A server that runs with --local tells a path on its own disk.
            raise Refused(_BAD_REQUEST, "the Bot API server keeps its files to itself (--local)")
        return quote(path, safe=":/"), found.file_size or 0

    @property
    def _files(self) -> str:
        return f"{self._api_url}/file/bot"

    def _bot(self) -> Bot:
        """Return the bot of this process: a fork must not use its parent's connections."""
        pid = os.getpid()
        if pid not in self._bots:
            with self._lock:
                if pid not in self._bots:
                    self._bots[pid] = self._made(pid)
        return self._bots[pid]

    def _made(self, pid: int) -> Bot:
        calls, polls = _request(_CONNECTIONS), _request(1)
        # Connections live in the loop's thread: they are closed there.
        weakref.finalize(self, _close, pid, (calls, polls)).atexit = False
        base = f"{self._api_url}/bot"
        return Bot(
            self._token,
            base_url=base,
            base_file_url=self._files,
            request=calls,
            get_updates_request=polls,
        )


def _close(pid: int, requests: Sequence[HTTPXRequest]) -> None:
    if pid == os.getpid():
        for request in requests:
            PORTAL.leave(request.shutdown())


class _Details(BaseModel):
    retry_after: int | None = None
    migrate_to_chat_id: int | None = None

    @property
    def wait(self) -> float | None:
        return None if self.retry_after is None else float(min(self.retry_after, _LONGEST_WAIT))


class _Refusal(BaseModel):
    description: str = ""
    parameters: _Details = _Details()


class _Request(HTTPXRequest):
    """The SDK's connections, with failures that keep what they know."""

    async def do_request(self, *positional: Any, **named: Any) -> tuple[int, bytes]:
        """Send one request. Raises Refused and Lost."""
        try:
            status, payload = await super().do_request(*positional, **named)
        except NetworkError as error:
            cause = type(error.__cause__).__name__
            sent = cause not in _BEFORE_SENDING
            why = "the answer broke off or did not come" if sent else "no connection to Telegram"
            raise Lost(f"{why} ({cause})", sent=sent) from None
        if status not in range(200, 300):
            raise _refused(status, payload)
        if not _has_result(payload):
            raise Lost("what answered is no Bot API", sent=True)
        return status, payload


def _request(connections: int) -> HTTPXRequest:
    return _Request(
        connection_pool_size=connections,
        connect_timeout=_CONNECT_SECONDS,
        read_timeout=_ANSWER_SECONDS,
        write_timeout=_ANSWER_SECONDS,
        pool_timeout=_CONNECT_SECONDS,
        # A proxy of the environment would see the token.
        httpx_kwargs={"trust_env": False, "verify": trusted("telegram")},
    )


def _refused(status: int, payload: bytes) -> Refused:
    try:
        read = _Refusal.model_validate_json(payload)
    except ValidationError:
        return Refused(status)
    return Refused(status, read.description, read.parameters)


def _has_result(payload: bytes) -> bool:
    try:
        answer: object = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return False
    return isinstance(answer, Mapping) and "result" in answer
