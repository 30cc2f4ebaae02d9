"""One client's event stream of one conversation (design: blueprint §9).

Messages come from the database, each once and in order, with their number as the event's id. What
a running turn writes comes from the live events and is only shown: it has no id.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.conversations.types import Address, Author, ChatKind, ChatMessage, Conversation
from habakkuk.core.errors import NotFound, Unavailable
from habakkuk.events.hub import Subscription
from habakkuk.events.types import Event, EventType
from habakkuk.interop.live import LiveView
from web.api.bodies import MessageBody
from web.sse import KEEPALIVE, sse

_KEEPALIVE_SECONDS = 20.0
_LOOK_SECONDS = 5.0
_NEW_SECONDS = 0.5
# Messages of a turn that goes on, or that begin one.
_BETWEEN = {
    ChatKind.APPROVAL,
    ChatKind.QUESTION,
    ChatKind.EVENT,
    ChatKind.FILE,
    ChatKind.POLL,
}
_NEWS = {EventType.TURN_ENDED, EventType.QUEUE_CHANGED}


class ChatStream:
    """Follows one conversation for one client, from one /new to the next."""

    def __init__(
        self,
        container: Container,
        principal: Principal,
        address: Address,
        after: int,
        gone: Callable[[], bool],
    ) -> None:
        """Begin after message number `after`."""
        self._container = container
        self._principal = principal
        self._address = address
        self._after = after
        self._gone = gone
        # The first bytes are due at once: they tell the client that it is connected.
        self._spoke = float("-inf")

    def parts(self) -> Iterator[bytes]:
        """Yield the stream until the client has gone."""
        self._container.done.start()
        while not self._gone():
            conversation = self._conversation()
            if conversation is None:
                yield from self._kept_alive()
                time.sleep(_NEW_SECONDS)
                continue
            with self._container.live.subscribed(conversation.session_id) as subscription:
                yield from self._session(conversation, subscription)

    def _session(self, conversation: Conversation, subscription: Subscription) -> Iterator[bytes]:
        """Follow one session until the conversation goes on with another."""
        view = LiveView()
        yield from self._kept_alive()
        yield from self._rows(conversation, view)
        yield from self._shown(view.replay(self._container.live.replay(conversation.session_id)))
        while not self._gone():
            event = subscription.get(_LOOK_SECONDS)
            if event is None or event.type in _NEWS:
                yield from self._rows(conversation, view)
            if event is not None:
                yield from self._seen(view, event)
            elif self._moved_on(conversation):
                return
            yield from self._kept_alive()

    def _seen(self, view: LiveView, event: Event) -> Iterator[bytes]:
        if event.type is EventType.QUEUE_CHANGED:
            yield from self._shown([event])
            return
        yield from self._shown(view.see(event))
        if view.gap:
            yield from self._shown(view.replay(self._container.live.replay(event.session)))

    def _rows(self, conversation: Conversation, view: LiveView) -> Iterator[bytes]:
        """Yield the messages that the client has not seen."""
        while rows := self._next_rows(conversation):
            for row in rows:
                self._after = row.seq
                self._spoke = time.monotonic()
                yield sse(MessageBody.of(row).model_dump(mode="json"), event="message", id=row.seq)
                if row.turn_id is not None and _ends_turn(row):
                    yield from self._ended(view, row.turn_id)

    def _next_rows(self, conversation: Conversation) -> Iterable[ChatMessage]:
        try:
            return self._container.conversations.after(conversation.id, self._after)
        except Unavailable:
            return ()

    def _ended(self, view: LiveView, turn: str) -> Iterator[bytes]:
        if view.end(turn):
            yield sse({"turn": turn}, event=EventType.TURN_ENDED)

    def _shown(self, events: Iterable[Event]) -> Iterator[bytes]:
        for event in events:
            self._spoke = time.monotonic()
            body = {"session": event.session, "turn": event.turn, "step": event.step}
            yield sse(body | event.data, event=event.type)

    def _kept_alive(self) -> Iterator[bytes]:
        if time.monotonic() - self._spoke >= _KEEPALIVE_SECONDS:
            self._spoke = time.monotonic()
            yield KEEPALIVE

    def _conversation(self) -> Conversation | None:
        """Return the conversation, None before its first message or while the database is away."""
        try:
            return self._container.conversations.find(self._principal, self._address)
        except (NotFound, Unavailable):
            return None

    def _moved_on(self, conversation: Conversation) -> bool:
        now = self._conversation()
        return now is not None and now.session_id != conversation.session_id


def _ends_turn(row: ChatMessage) -> bool:
    """Whether a turn's message is its last: a question or a file of it is not."""
    return row.author is not Author.USER and row.kind not in _BETWEEN
