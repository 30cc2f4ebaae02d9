"""One call of one model: what was shown of it, and the record that is kept of it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from habakkuk.core.errors import LlmError
from habakkuk.llm.contract import CallLog, CallRecord, NetworkFailed, StreamCut
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    LlmRequest,
    ModelRef,
    Text,
    TextDelta,
    ToolCallStarted,
    Usage,
)

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


@dataclass(frozen=True)
class Recorder:
    """Where calls are recorded; `now` counts seconds."""

    log: CallLog | None
    now: Callable[[], float] = time.monotonic


class Attempt:
    """Passes the events of one call on and keeps what was shown. Recorded exactly once."""

    def __init__(
        self, ref: ModelRef, request: LlmRequest, recorder: Recorder, hold: str | None
    ) -> None:
        """`hold` is what the budget gave for it."""
        self.ref = ref
        self.request = request
        self.shown = False
        self.finished: Finished | None = None
        self._labels = request.labels
        self._recorder = recorder
        self._hold = hold
        self._text: list[str] = []
        self._began = recorder.now()
        self._first: float | None = None
        self._open = True

    def watch(self, events: Iterator[LlmEvent]) -> Iterator[LlmEvent]:
        """Yield everything but Finished, which is kept."""
        for event in events:
            if isinstance(event, Finished):
                self.finished = event
                return
            if self._first is None:
                self._first = self._recorder.now() - self._began
            self.shown = self.shown or isinstance(event, TextDelta | ToolCallStarted)
            if isinstance(event, TextDelta):
                self._text.append(event.text)
            yield event
        raise NetworkFailed(f"{self.ref}: the stream ended before the answer did", retryable=True)

    def cut(self, failure: LlmError) -> StreamCut:
        """Return the error that carries what was shown."""
        text = "".join(self._text)
        blocks = (Text(text=text, partial=True),) if text.strip() else ()
        return StreamCut(f"the answer broke off: {failure}", blocks)

    def answered(self, finished: Finished) -> None:
        """Record a whole answer; its turn writes it with its next step."""
        self._record(finished.model, "answered", finished.usage, last=True)

    def failed(self, error: LlmError) -> None:
        """Record a failure, with what it had used where the provider said it."""
        used = error.usage if isinstance(error, NetworkFailed) else None
        word = "cut" if self.shown else _CAPITAL.sub("_", type(error).__name__).lower()
        self._record(self.ref, word, used)

    def stopped(self) -> None:
        """Record that we gave it up; nothing when it was recorded."""
        self._record(self.ref, "stopped", None)

    def _record(
        self, ref: ModelRef, outcome: str, usage: Usage | None, *, last: bool = False
    ) -> None:
        if not self._open:
            return
        self._open = False
        if self._recorder.log is not None:
            seconds = self._recorder.now() - self._began
            self._recorder.log.record(
                CallRecord(
                    ref, self._labels, outcome, usage, seconds, self._first, self._hold, last
                )
            )
