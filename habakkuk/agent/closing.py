"""What the calls of a stopped turn are told: each ends with a result that is true of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from habakkuk.conversations.store import journal, transcript
from habakkuk.conversations.types import JournalEntry, Turn
from habakkuk.db.engine import Work
from habakkuk.llm.types import Block, Media, Message, Role, Text, ToolCall, ToolResult

STOPPED = "stopped by the user; it may or may not have taken effect"
NEVER_RAN = "cancelled by the user before it ran; it has had no effect"
STOPPED_TEXT = "[stopped by the user]"


@dataclass(frozen=True)
class StepResults:
    """What the calls of one step gave: a result for each, and the files that some of them brought.

    Providers take results first, so files stand after all of them, in the order of the calls.
    """

    results: tuple[ToolResult, ...]
    media: tuple[Media, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[JournalEntry]) -> StepResults:
        """Return what is recorded of calls that are done."""
        media = tuple(one for entry in entries for one in entry.media)
        return cls(tuple(_recorded(entry) for entry in entries), media)

    def with_last(self, last: ToolResult) -> StepResults:
        """Return the same with another last result."""
        return replace(self, results=(*self.results[:-1], last))

    @property
    def message(self) -> Message:
        """The user message that tells a model of them."""
        return Message(Role.USER, (*self.results, *self._shown()))

    def _shown(self) -> Iterator[Block]:
        for one in self.media:
            if len(self.media) > 1:
                # No wire format names an image: of several, each is told apart.
                yield Text(text=f"({one.name or 'file'}:)", note=True)
            yield one


def close_calls(work: Work, place: journal.Place, calls: Sequence[ToolCall]) -> StepResults:
    """End the calls of a step that have no result, and return the results of all. After a guard.

    A result that a tool writes meanwhile stands.
    """
    entries = journal.of_step_in(work, place)
    for call in calls:
        journal.end(work, place, call, _stopped(call, entries.get(call.id)))
    entries = journal.of_step_in(work, place)
    return StepResults.of([entries[call.id] for call in calls])


def _recorded(entry: JournalEntry) -> ToolResult:
    """Return the result of a call that is done, as the transcript has it."""
    return ToolResult(call_id=entry.call_id, text=entry.text, is_error=entry.is_error)


def close_turn(work: Work, turn: Turn) -> None:
    """Close the open calls of a cancelled turn that nobody runs, in the transaction of its end."""
    last = transcript.last(work, turn.session_id)
    if last is None or last.job_id != turn.id or not last.message.calls:
        return
    place = journal.Place(turn.session_id, turn.id, last.step)
    results = close_calls(work, place, last.message.calls)
    stopped = Text(text=STOPPED_TEXT, partial=True)
    for step, message in (
        (last.step + 1, results.message),
        (last.step + 2, Message(Role.ASSISTANT, (stopped,))),
    ):
        transcript.append(work, turn.session_id, turn.id, step, message)


def _stopped(call: ToolCall, entry: JournalEntry | None) -> ToolResult:
    """Return the result of a call that is open. One that waited by itself had begun to run."""
    ran = entry is not None and entry.started
    return ToolResult(call_id=call.id, text=STOPPED if ran else NEVER_RAN, is_error=True)
