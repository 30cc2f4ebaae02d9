"""Follow a session's live events so that a client sees everything once and in order.

A client subscribes, reads the stored stream, and goes on live: some events come twice, some late,
some from a worker that has died since. The store is the truth; this only shows what is on its way.
A text delta says where in its step's text it begins (`at`), so doubled pieces are cut off and
missing ones are noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from habakkuk.events.types import Event, EventType

_MAX_ENDED = 64


@dataclass(frozen=True)
class _Shown:
    """How much of a step's text the client has, and from which claim of the turn."""

    fence: int
    length: int


class LiveView:
    """What one client was shown of one session. Pure: events in, events to send out.

    A turn's end is never among them: whoever reads the store finds its answer there and calls
    `end`.
    """

    def __init__(self) -> None:
        """Start with nothing shown."""
        self._turn: str | None = None
        self._told: str | None = None
        self._fence = 0
        self._over = 0
        self._last = (0, 0)
        self._shown: dict[int, _Shown] = {}
        self._ended: dict[str, None] = {}
        self._gap = False

    @property
    def gap(self) -> bool:
        """Whether a piece of text is missing: give `replay` what the stream holds."""
        return self._gap

    def end(self, turn: str) -> bool:
        """Show nothing more of a turn: its answer is stored.

        True when the client was shown something of it and has not been told of its end.
        """
        self._close(turn)
        told = turn == self._told
        if told:
            self._told = None
        return told

    def _close(self, turn: str) -> None:
        self._ended[turn] = None
        if len(self._ended) > _MAX_ENDED:
            self._ended.pop(next(iter(self._ended)))
        if turn == self._turn:
            self._over = self._fence
            self._shown.clear()
            self._gap = False

    def see(self, event: Event) -> list[Event]:
        """Return what to send for one event: nothing, itself, or a reset and itself."""
        return self._see(event, whole=False)

    def replay(self, events: Iterable[Event]) -> list[Event]:
        """Return what to send for the stored stream, neighbouring pieces of text joined."""
        held = list(events)
        ended = {event.turn for event in held if event.type is EventType.TURN_ENDED}
        sent: list[Event] = []
        for event in held:
            if event.turn not in ended or event.turn == self._turn:
                sent.extend(self._see(event, whole=True))
        self._gap = False
        return _joined(sent)

    def _see(self, event: Event, *, whole: bool) -> list[Event]:
        if event.fence <= self._over or event.fence < self._fence or event.turn in self._ended:
            return []
        if event.turn != self._turn:
            self._turn = event.turn
            self._shown.clear()
        self._fence = event.fence
        if event.type is EventType.TEXT:
            return self._text(event, whole=whole)
        if event.position <= self._last:
            return []
        self._last = event.position
        if event.type is EventType.STEP_RESET:
            self._forget(event.step)
        elif event.type is EventType.TURN_ENDED:
            self._close(event.turn)
            return []
        self._told = event.turn
        return [event]

    def _text(self, event: Event, *, whole: bool) -> list[Event]:
        sent = []
        shown = self._shown.get(event.step)
        if shown is not None and shown.fence < event.fence:
            sent.append(replace(event, type=EventType.STEP_RESET, data={}))
            self._forget(event.step)
            shown = None
        have = shown.length if shown is not None else 0
        at = int(event.data.get("at", have))
        if at > have and not whole:
            self._gap = True
            return sent
        text = event.data["text"][max(0, have - at) :]
        begin = max(have, at)
        self._shown[event.step] = _Shown(event.fence, begin + len(text))
        if text:
            self._told = event.turn
            sent.append(replace(event, data={"text": text, "at": begin}))
        return sent

    def _forget(self, step: int) -> None:
        for later in [known for known in self._shown if known >= step]:
            del self._shown[later]


def _joined(events: Iterable[Event]) -> list[Event]:
    joined: list[Event] = []
    for event in events:
        last = joined[-1] if joined else None
        if last is not None and _continues(last, event):
            data = {"text": last.data["text"] + event.data["text"], "at": last.data["at"]}
            joined[-1] = replace(event, data=data)
        else:
            joined.append(event)
    return joined


def _continues(last: Event, event: Event) -> bool:
    return (
        last.type is event.type is EventType.TEXT
        and (last.turn, last.fence, last.step) == (event.turn, event.fence, event.step)
        and last.data["at"] + len(last.data["text"]) == event.data["at"]
    )
