"""What a person sees of one turn: its live events in, text out, and the committed answer last."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from web.cli.terminal.output import one_line, visible
from web.cli.terminal.progress import Progress

if TYPE_CHECKING:
    from habakkuk.events.types import Event

INTERRUPTED = "(interrupted, answering again)"
# After these there is something to read in the database.
_NOTABLE = {"turn.ended", "turn.waiting", "approval.asked"}


class LiveAnswer:
    """Writes a turn's text as it arrives.

    With `live` False nothing is written before the end, and then exactly what is stored.
    """

    def __init__(self, turn: str, out: TextIO, progress: Progress, *, live: bool) -> None:
        """Follow `turn`; `out` is a terminal when `live`."""
        self._turn = turn
        self._out = out
        self._progress = progress
        self._live = live
        self._position = (0, 0)
        self._step = -1
        self._fence = 0
        self._text = ""
        self._received = 0
        self._column_zero = True

    def take(self, event: Event) -> bool:
        """Show one event, unless it was seen or is another turn's; True when it asks or ended."""
        if event.turn != self._turn or event.position <= self._position:
            return False
        self._position = event.position
        kind = str(event.type)
        if kind == "text.delta":
            self._delta(event)
        elif kind == "step.reset":
            self._reset(event.step)
        elif kind in {"turn.started", "thinking.delta"}:
            self._say("thinking…")
        elif kind == "tool.started":
            self._say(f"tool {event.data.get('name', '')}…")
        elif kind == "review":
            self._reviewed(event)
        return kind in _NOTABLE

    def _reviewed(self, event: Event) -> None:
        said = event.data
        reason = f": {said['reason']}" if said.get("reason") else ""
        words = {"allow": "allowed", "deny": "denied"}.get(str(said.get("decision")))
        verdict = words or "was unsure about"
        self.note(one_line(f"the reviewer {verdict} {said.get('name', '')}{reason}"))

    def note(self, sentence: str) -> None:
        """Say something on stderr that stays."""
        self._end_line()
        self._progress.note(sentence)

    def break_off(self) -> None:
        """Leave the terminal at the start of a line."""
        self._progress.clear()
        self._end_line()

    def finish(self, answer: str) -> None:
        """Write what is not shown yet of the committed answer, and end the line."""
        self._progress.clear()
        if not self._live:
            self._out.write(answer if answer.endswith("\n") or not answer else answer + "\n")
            self._out.flush()
            return
        self._write(self._missing(answer))
        self._end_line()

    def _missing(self, answer: str) -> str:
        shown = self._text
        if answer.startswith(shown):
            return answer[len(shown) :]
        if not answer or answer == shown.strip():
            return ""
        self._end_line()
        return answer

    def _delta(self, event: Event) -> None:
        if event.step == self._step and event.fence > self._fence:
            self._reset(event.step)
        if event.step != self._step:
            self._end_line()
            self._text, self._received = "", 0
        self._step, self._fence = event.step, event.fence
        text = str(event.data.get("text", ""))
        if event.data.get("at", self._received) != self._received:
            # Something before it was lost: the rest comes whole with the committed answer.
            return
        self._received += len(text)
        # An answer is stored without the white space around it.
        text = text if self._text else text.lstrip()
        self._text += text
        if self._live and text:
            self._progress.clear()
            self._write(text)

    def _reset(self, step: int) -> None:
        """Take back what a worker that is gone had shown of this step."""
        if step > self._step:
            return
        if self._live and self._text:
            self._progress.clear()
            self._end_line()
            self._write(INTERRUPTED + "\n")
        self._text, self._received = "", 0

    def _say(self, what: str) -> None:
        self._end_line()
        self._progress.say(what)

    def _end_line(self) -> None:
        if not self._column_zero:
            self._write("\n")

    def _write(self, text: str) -> None:
        if not text:
            return
        self._out.write(visible(text))
        self._out.flush()
        self._column_zero = text.endswith("\n")
