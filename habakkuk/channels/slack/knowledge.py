"""What the bot has to know of its workspace beside what comes in; asked once, and remembered."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from habakkuk.channels.outcomes import Lost
from habakkuk.channels.slack import failures, mrkdwn
from habakkuk.channels.slack.client import Client, Refused, part
from habakkuk.core.errors import ChannelError

_T = TypeVar("_T")
_NAME_SECONDS = 3600.0
# A person without a name is asked for again soon; a thread without the bot may get it any time.
_NOTHING_SECONDS = 60.0
_MOST = 2000
# Slack names no more of those who wrote in a thread. So many pages of it are looked through then.
_MOST_WRITERS, _PAGE, _PAGES = 5, 200, 5


@dataclass(frozen=True)
class Me:
    """The app's bot: its user id, its name, and its workspace."""

    id: str
    user: str
    team_id: str
    team: str


class _Profile(BaseModel):
    model_config = ConfigDict(strict=True)
    display_name: str = ""
    real_name: str = ""


class _User(BaseModel):
    model_config = ConfigDict(strict=True)
    name: str = ""
    profile: _Profile = _Profile()


class _Me(BaseModel):
    model_config = ConfigDict(strict=True)
    user_id: str
    user: str = ""
    team_id: str = ""
    team: str = ""


class Knowledge:
    """What one bot knows. Thread-safe; two threads may both ask for one thing."""

    def __init__(self, client: Client) -> None:
        """Ask nothing yet."""
        self._client = client
        self._me: Me | None = None
        self._names: _Memory[str] = _Memory()
        self._threads: _Memory[bool] = _Memory()
        self._called: _Memory[bool] = _Memory()

    def me(self) -> Me:
        """Return who the bot is. Raises Refused and Lost."""
        if self._me is None:
            try:
                told = _Me.model_validate(self._client.auth_test().data)
            except ValidationError:
                raise Lost("what answered is not Slack", sent=True) from None
            self._me = Me(told.user_id, told.user, told.team_id, told.team)
        return self._me

    def bot(self) -> str:
        """Return the bot's user id. Raises ChannelError."""
        return self._asked(self.me).id

    def team(self) -> str:
        """Return the id of its workspace. Raises ChannelError."""
        return self._asked(self.me).team_id

    def name(self, user: str) -> str:
        """Return what a user is called, nothing where that cannot be told now."""
        known = self._names.get(user)
        if known is not None:
            return known
        try:
            told = part(self._client.users_info(user=user).data, "user")
            read = _User.model_validate(dict(told))
        except (Refused, Lost, ValidationError):
            # A name only looks better: nobody waits for it.
            read = _User()
        name = read.profile.display_name or read.profile.real_name or read.name
        return self._names.put(
            user, mrkdwn.unescaped(name), _NAME_SECONDS if name else _NOTHING_SECONDS
        )

    def speaks_in(self, channel: str, thread: str) -> bool:
        """Say whether the bot answers in a thread. Raises ChannelError."""
        place = f"{channel}:{thread}"
        known = self._threads.get(place)
        if known is not None:
            return known
        speaks = self._asked(lambda: self._speaks(channel, thread))
        if not speaks and self._called.get(place):
            # Its answer may come any moment, and who writes below that means the bot.
            return False
        return self._threads.put(place, speaks, _NAME_SECONDS if speaks else _NOTHING_SECONDS)

    def called_in(self, channel: str, thread: str) -> None:
        """Note that the bot was called in a thread: that it has not written there passes soon."""
        place = f"{channel}:{thread}"
        self._called.put(place, value=True, seconds=_NAME_SECONDS)
        if not self._threads.get(place):
            self._threads.forget(place)

    def _speaks(self, channel: str, thread: str) -> bool:
        me = self.me().id
        asked = self._client.conversations_replies(channel=channel, ts=thread, limit=1)
        found = part(asked.data).get("messages")
        root = found[0] if isinstance(found, list) and found else {}
        if mrkdwn.mentions(str(root.get("text", "")), me) or root.get("user") == me:
            return True
        told = root.get("reply_users")
        writers = told if isinstance(told, list) else []
        many = len(writers) >= _MOST_WRITERS
        return me in writers or (many and self._wrote(channel, thread, me))

    def _wrote(self, channel: str, thread: str, user: str) -> bool:
        """Look for somebody among the messages of a thread."""
        cursor = None
        for _ in range(_PAGES):
            data = self._client.conversations_replies(
                channel=channel, ts=thread, limit=_PAGE, cursor=cursor
            ).data
            found = part(data).get("messages")
            listed = found if isinstance(found, list) else []
            if any(part(one).get("user") == user for one in listed):
                return True
            cursor = part(data, "response_metadata").get("next_cursor")
            if not cursor:
                break
        return False

    @staticmethod
    def _asked(ask: Callable[[], _T]) -> _T:
        try:
            return ask()
        except (Refused, Lost) as error:
            reason = failures.of_call(error)
            raise ChannelError(
                str(reason), retryable=True, retry_after=reason.retry_after
            ) from None


class _Memory(Generic[_T]):
    """The newest of what was asked, each for its time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[str, tuple[_T, float]] = OrderedDict()

    def get(self, name: str) -> _T | None:
        with self._lock:
            found = self._held.get(name)
        return found[0] if found is not None and found[1] > time.monotonic() else None

    def forget(self, name: str) -> None:
        with self._lock:
            self._held.pop(name, None)

    def put(self, name: str, value: _T, seconds: float) -> _T:
        with self._lock:
            self._held.pop(name, None)
            self._held[name] = (value, time.monotonic() + seconds)
            if len(self._held) > _MOST:
                self._held.popitem(last=False)
        return value
