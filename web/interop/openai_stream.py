"""One streamed answer: what the model writes as it comes, ending in what was stored."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import TypeVar

from habakkuk.accounts.types import Principal
from habakkuk.bootstrap import Container
from habakkuk.conversations.types import ChatMessage, Outcome, Turn
from habakkuk.core.errors import Unavailable
from habakkuk.events.types import EventType
from habakkuk.interop.answer import AnswerText
from habakkuk.interop.openai_chat import Frame, chunk, error_body, usage_chunk
from web.sse import KEEPALIVE, sse

T = TypeVar("T")
Ended = tuple[Turn, ChatMessage | None]
_KEEPALIVE_SECONDS = 15.0
_LOOK_SECONDS = 5.0
_FIRST_LOOK_SECONDS = 0.25
_RETRY_SECONDS = 1.0


class CompletionStream:
    """Streams one turn to one client. The turn does not depend on it."""

    def __init__(
        self,
        container: Container,
        principal: Principal,
        frame: Frame,
        gone: Callable[[], bool],
        *,
        usage: bool,
    ) -> None:
        """Stream the turn of `frame`; `usage` adds a last piece with the tokens."""
        self._container = container
        self._principal = principal
        self._frame = frame
        self._gone = gone
        self._usage = usage
        self._spoke = time.monotonic()

    def parts(self) -> Iterator[bytes]:
        """Yield the stream, to its end or until the client has gone."""
        yield sse(chunk(self._frame, {"role": "assistant", "content": ""}))
        answer = AnswerText(self._frame.turn)
        self._container.done.start()
        ended = yield from self._live(answer)
        if ended is None:
            return
        # In one piece: each is a packet to the client and a wake-up of it.
        yield b"".join((*self._end(answer, *ended), sse("[DONE]")))

    def _live(self, answer: AnswerText) -> Generator[bytes, None, Ended | None]:
        """Yield text as it comes; return the turn once it ended, None when the client has gone."""
        live, session = self._container.live, self._frame.session
        with live.subscribed(session) as subscription:
            if self._frame.earlier:
                yield from self._text(answer.replay(live.replay(session)))
            # It may have ended before this began to listen: the first look comes soon.
            ended, patience, begun = None, _FIRST_LOOK_SECONDS, False
            while ended is None and not self._gone():
                event = subscription.get(patience)
                patience = _LOOK_SECONDS
                if event is not None:
                    # A turn whose first event is not seen has said something before.
                    missed = event.turn == self._frame.turn and not begun and event.number > 1
                    begun = begun or event.turn == self._frame.turn
                    if missed:
                        yield from self._text(answer.replay(live.replay(session)))
                    yield from self._text(answer.see(event))
                    if answer.gap:
                        yield from self._text(answer.replay(live.replay(session)))
                if event is None or (
                    event.type is EventType.TURN_ENDED and event.turn == self._frame.turn
                ):
                    ended = self._ended()
                yield from self._kept_alive()
            return ended

    def _end(self, answer: AnswerText, turn: Turn, reply: ChatMessage | None) -> Iterator[bytes]:
        body = reply.body if reply is not None else ""
        if turn.outcome is Outcome.FAILED:
            yield sse(error_body(body, "api_error", code="turn_failed"))
            return
        yield from self._text(answer.finish(body))
        yield sse(chunk(self._frame, {}, finish_reason(turn, reply)))
        if self._usage:
            usage = self._retried(lambda: self._container.conversations.usage(turn))
            if usage is not None:
                yield sse(usage_chunk(self._frame, usage))

    def _text(self, text: str) -> Iterator[bytes]:
        if text:
            self._spoke = time.monotonic()
            yield sse(chunk(self._frame, {"content": text}))

    def _kept_alive(self) -> Iterator[bytes]:
        if time.monotonic() - self._spoke >= _KEEPALIVE_SECONDS:
            self._spoke = time.monotonic()
            yield KEEPALIVE

    def _ended(self) -> Ended | None:
        """Return the turn and its reply if it has ended; None also while the database is away."""
        conversations = self._container.conversations
        try:
            found = conversations.turn_with_reply(self._principal, self._frame.turn)
        except Unavailable:
            return None
        return found if found[0].ended is not None else None

    def _retried(self, read: Callable[[], T]) -> T | None:
        """Return what `read` returns once the database is there; None when the client has gone."""
        while True:
            try:
                return read()
            except Unavailable:
                if self._gone():
                    return None
                time.sleep(_RETRY_SECONDS)


def finish_reason(turn: Turn, reply: ChatMessage | None) -> str:
    """Return why an answer ends, in OpenAI's words: length for one that is not whole."""
    cut = reply is not None and bool(reply.data.get("cut"))
    return "length" if cut or turn.outcome is Outcome.PARTIAL else "stop"
