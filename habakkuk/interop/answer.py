"""Show the answer of one turn as text that can only grow, ending in what was stored."""

from __future__ import annotations

from collections.abc import Iterable

from habakkuk.events.types import Event, EventType
from habakkuk.interop.live import LiveView

BETWEEN = "\n\n"
INTERRUPTED = "\n\n[interrupted, answering again]\n\n"


class AnswerText:
    """The text of one turn for a client that cannot take back what it was sent.

    Pure. `see` and `replay` return what to send now; `finish` what is left once the turn ended.
    """

    def __init__(self, turn: str) -> None:
        """Show nothing but this turn."""
        self._turn = turn
        self._view = LiveView()
        self._step: int | None = None
        self._shown = ""
        self._closed = False
        self._interrupted = False

    @property
    def gap(self) -> bool:
        """Whether a piece is missing: give `replay` what the stream holds."""
        return self._view.gap

    def see(self, event: Event) -> str:
        """Return the text to send for one event."""
        if event.turn != self._turn:
            return ""
        return "".join(self._piece(seen) for seen in self._view.see(event))

    def replay(self, events: Iterable[Event]) -> str:
        """Return the text to send for the stored stream."""
        own = [event for event in events if event.turn == self._turn]
        return "".join(self._piece(seen) for seen in self._view.replay(own))

    def finish(self, body: str) -> str:
        """Return what of the committed answer was not sent yet."""
        self._view.end(self._turn)
        if not body:
            return ""
        if not self._shown:
            return self._lead() + body
        rest = _rest(self._shown, body)
        if rest is not None:
            return rest
        return (BETWEEN if self._closed else INTERRUPTED) + body

    def _piece(self, event: Event) -> str:
        if event.type is EventType.TEXT:
            return self._text(event)
        if event.type is EventType.STEP_RESET:
            if self._shown and self._step is not None and event.step <= self._step:
                self._interrupted = True
                self._shown = ""
        elif event.type in {EventType.STEP_DONE, EventType.TOOL_STARTED}:
            self._closed = True
        return ""

    def _text(self, event: Event) -> str:
        text = str(event.data["text"])
        fresh = self._interrupted or event.step != self._step
        if event.data["at"] != (0 if fresh else len(self._shown)):
            # The stream had lost what goes before; the stored answer will make it good.
            return ""
        lead = self._lead() if fresh else ""
        self._shown = text if fresh else self._shown + text
        self._step = event.step
        self._closed = False
        self._interrupted = False
        return lead + text

    def _lead(self) -> str:
        """Return what stands between earlier text and new text."""
        if self._interrupted:
            return INTERRUPTED
        return BETWEEN if self._step is not None else ""


def _rest(shown: str, body: str) -> str | None:
    """Return what of `body` follows `shown`; None when they differ.

    A stored answer is stripped, what was streamed is not.
    """
    lead = shown.lstrip()
    if body.startswith(lead):
        return body[len(lead) :]
    return "" if lead.rstrip() == body else None
