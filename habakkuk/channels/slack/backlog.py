"""What was written in direct messages while nobody listened, read beside what comes (K6).

Slack lets an app ask for a history some fifty times in a minute, and says how long it wants to be
left alone. So it is read in small steps, a page or a message each, with the line looked at in
between; what is still to be read is stored with every message, so that an end in between loses
nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from habakkuk.channels.messages import Edit, Event, InboundMessage, Source
from habakkuk.channels.outcomes import Lost
from habakkuk.channels.polling import ChannelPoller, Door
from habakkuk.channels.slack import failures, wire
from habakkuk.channels.slack.client import Refused, part
from habakkuk.channels.slack.history import Message
from habakkuk.channels.slack.places import Places
from habakkuk.channels.slack.workspace import Workspace, Workspaces
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.log import get_logger

_log = get_logger("channels.slack")
# After a failure whose answer names no wait: twice as long each time.
_SHORTEST, _LONGEST = 5.0, 300.0
# What changed of what was stored already is looked for so far back in a chat.
_EDITED_SECONDS = 3600.0
# How long a new message waits for the earlier ones of its chat. Slack brings one again that is not
# acknowledged within three seconds.
_IN_ORDER_SECONDS = 2.0


@dataclass
class _Chat:
    """A chat that is read: what of its last page is not handed over, and how the next is named.

    `since` is the time stamp after which messages were missed. Nothing is done before `free`, by
    the monotonic clock.
    """

    name: str
    since: float
    ready: deque[Message] = field(default_factory=deque)
    cursor: object = None
    failed: int = 0
    free: float = 0.0

    @property
    def oldest(self) -> str:
        return f"{max(0.0, self.since - _EDITED_SECONDS):.6f}"


class Backlog:
    """What one run of a poller has to read. `interrupt` ends it between two steps."""

    def __init__(
        self,
        places: Places,
        workspaces: Workspaces,
        reader: wire.Reader,
        door: Door,
        interrupt: Interrupt,
    ) -> None:
        """Begin with what the places say was missed."""
        self._places = places
        self._workspaces = workspaces
        self._reader = reader
        self._door = door
        self._interrupt = interrupt
        self._chats = deque(_Chat(name, float(since)) for name, since in places.missed.items())

    def left(self, most: float) -> float:
        """Return for how many seconds there is nothing to do, at most so many."""
        now = time.monotonic()
        return min([most, *(self._wait(chat, now) for chat in self._chats)])

    def step(self) -> None:
        """Hand one message over or ask for one page, where that may be done now."""
        now = time.monotonic()
        chat = next((one for one in self._chats if not self._wait(one, now)), None)
        if chat is not None:
            self._go_on(chat)

    def _go_on(self, chat: _Chat) -> None:
        workspace, channel = self._workspaces.at(chat.name)
        try:
            if chat.ready:
                self._hand_over(chat, workspace, channel)
            elif self._is_whole(chat, workspace, channel):
                self._end(chat)
        except (Refused, Lost) as error:
            self._put_off(chat, workspace, failures.of_call(error))
            if isinstance(error, Refused) and error.code in failures.NO_CHAT:
                self._store(partial(self._door.pass_over, self._places.done(chat.name, gone=True)))
        except ChannelError as error:
            self._put_off(chat, workspace, error)

    def before(self, event: Event) -> None:
        """Read first what was written earlier in the chat of a message, as far as that is soon."""
        until = time.monotonic() + _IN_ORDER_SECONDS
        while chat := next((one for one in self._chats if one.name == event.chat), None):
            now = time.monotonic()
            if now >= until or self._wait(chat, now):
                return
            self._go_on(chat)

    def _wait(self, chat: _Chat, now: float) -> float:
        """Return for how many seconds nothing of a chat can be done."""
        workspace, _ = self._workspaces.at(chat.name)
        return max(0.0, chat.free - now, 0.0 if chat.ready else workspace.pace.left(now))

    def _is_whole(self, chat: _Chat, workspace: Workspace, channel: str) -> bool:
        """Ask for the next page; say whether there was nothing more. Raises Refused and Lost."""
        workspace.pace.called(time.monotonic())
        page = workspace.history.since(channel, chat.oldest, chat.cursor)
        self._door.alive()
        chat.ready.extend(page.messages)
        chat.cursor, chat.failed = page.following, 0
        return not chat.ready and chat.cursor == ""

    def _hand_over(self, chat: _Chat, workspace: Workspace, channel: str) -> None:
        """Hand over what the next message tells. Raises ChannelError when it cannot be read now."""
        message = chat.ready[0]
        found = list(self._reader.past(workspace.knowledge.team(), channel, [message]))
        edited = _edited(message) >= chat.since
        found += [edit for one in found if edited and (edit := _edit(one)) is not None]
        ts = str(message.get("ts", "0"))
        if float(ts) > chat.since:
            self._passed(chat, ts, found)
        else:
            self._passed(chat, "", [one for one in found if isinstance(one, Edit)])
        chat.ready.popleft()
        if not chat.ready and chat.cursor == "":
            self._end(chat)

    def _passed(self, chat: _Chat, ts: str, found: list[Event]) -> None:
        """Store events of one message, the last of them with the place behind it."""
        for event in found[:-1]:
            self._store(partial(self._door.take, event, None))
        place = self._places.read(chat.name, ts) if ts else None
        for event in found[-1:]:
            self._store(partial(self._door.take, event, place))

    def _end(self, chat: _Chat) -> None:
        self._chats.remove(chat)
        self._store(partial(self._door.pass_over, self._places.done(chat.name)))

    def _put_off(self, chat: _Chat, workspace: Workspace, error: ChannelError) -> None:
        """Go on with the other chats; one that is refused for good is tried with the next line."""
        self._chats.remove(chat)
        _log.warning("a chat cannot be read back", chat=chat.name, reason=str(error))
        if not error.retryable:
            return
        now = time.monotonic()
        wait = error.retry_after or min(_SHORTEST * 2 ** min(chat.failed, 10), _LONGEST)
        workspace.pace.hold(now, error.retry_after or 0.0)
        chat.free = now + wait
        chat.failed += 1
        self._chats.append(chat)

    def _store(self, store: Callable[[], None]) -> None:
        ChannelPoller.hand_over(store, self._interrupt)


def _edited(message: Mapping[str, object]) -> float:
    """Return when a message was changed, in seconds since 1970; 0: it was not."""
    try:
        return float(str(part(message, "edited").get("ts", "0")))
    except ValueError:
        return 0.0


def _edit(event: Event) -> Edit | None:
    """Return a person's message as an edit of itself: what is stored of it may be older."""
    if not isinstance(event, InboundMessage) or event.source is not Source.PERSON:
        return None
    return Edit(event.id, event.chat, event.sender, event.text, event.thread)
