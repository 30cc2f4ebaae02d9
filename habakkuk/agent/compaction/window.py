"""What the model sees of a session, kept within what it takes (design: seed, Compaction).

A compaction is a record beside the transcript, written under the lease and only when nothing was
added since, so that a crash between the summary and its writing leaves the session as it was. It is
made at most once before each call of the model, and only where it takes a tenth of the limit away:
what cannot be made shorter is sent as it is, and the provider says what it thinks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from habakkuk.agent.compaction.plan import Plan, last_turn, plan, shortened
from habakkuk.agent.compaction.summary import summary_request
from habakkuk.agent.compaction.view import view
from habakkuk.conversations.store import compactions, transcript
from habakkuk.conversations.types import Compaction, StoredMessage, Transcript
from habakkuk.core.errors import ConfigurationError, LlmError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.jobs.contract import JobContext
from habakkuk.llm.contract import SpendCapReached
from habakkuk.llm.counting import exact_count, of_message, of_messages
from habakkuk.llm.types import Finished, LlmEvent, LlmRequest, Message, ModelRef

_log = get_logger("agent.compaction")
# Of the limit: what stays to the letter, and what a compaction must take away to be worth a call.
_KEPT = 5
_WORTH = 10
# Characters a token, low, so that what is cut by it fits.
_CHARACTERS = 3
_SHORTEST_SUMMARY = 1_000
# No text has twice as many tokens as a guess says, but for rare scripts.
_SURE = 2
_DROPPED = (
    "Earlier messages of this session could not be summed up ({why}), so the model no longer sees"
    " them. They stay in the session's history."
)
_GAP = "[Messages after this point were left out: they could not be summed up.]"


class Models(Protocol):
    """The router, as it is used here."""

    def stream(
        self, chain: Sequence[ModelRef], request: LlmRequest, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield one answer's events, Finished last."""
        ...


@dataclass(frozen=True)
class Room:
    """Whose session it is and how much of it fits, in tokens.

    `limit` is the length at which it is summed up, None for never; `takes` is what the model can
    be given, None when nobody knows; `fixed` is what stands beside the messages.
    """

    context: JobContext
    models: Models
    chain: Sequence[ModelRef]
    labels: dict[str, str]
    session_id: str
    limit: int | None
    takes: int | None
    fixed: Callable[[], int] = int


@dataclass(frozen=True)
class Shortened:
    """How long the messages were and are, in guessed tokens."""

    before: int
    after: int


class Window:
    """The messages of one run of a job."""

    def __init__(self, room: Room, shown: Transcript) -> None:
        """Begin with what was loaded."""
        self._room = room
        self._shown = shown
        self._stored = list(shown.messages)
        self.notices: list[str] = []

    @property
    def stored(self) -> Sequence[StoredMessage]:
        """What is kept to the letter, oldest first."""
        return self._stored

    @property
    def messages(self) -> list[Message]:
        """What is sent."""
        return view(self.transcript)

    @property
    def transcript(self) -> Transcript:
        """What is seen of the session as it is now."""
        return replace(self._shown, messages=self._stored)

    def add(self, job_id: str, step: int, message: Message, tokens: int | None) -> None:
        """Take a message that was just appended to the transcript."""
        seq = self._stored[-1].seq + 1
        self._stored.append(StoredMessage(seq, job_id, step, message, tokens))

    @property
    def tokens(self) -> int:
        """How long a request is now: as the provider counted the last, and a guess of the rest."""
        counted = self._counted()
        if counted is None:
            return self._uncounted()
        place, tokens = counted
        return tokens + sum(of_message(item.message) for item in self._stored[place + 1 :])

    def _uncounted(self) -> int:
        """Return our own count where no provider has given one: exact only where it decides."""
        guessed = self._room.fixed() + of_messages(self.messages)
        if self._room.limit is None or guessed * _SURE < self._room.limit:
            return guessed
        return self._room.fixed() + of_messages(self.messages, exact_count())

    def _counted(self) -> tuple[int, int] | None:
        """Return the place and the tokens of the last answer that was counted as things are."""
        record = self._shown.compaction
        since = record.transcript_length if record is not None else 0
        for place in range(len(self._stored) - 1, -1, -1):
            item = self._stored[place]
            if item.seq <= since:
                return None
            if item.tokens:
                return place, item.tokens
        return None

    def make_room(self) -> Shortened | None:
        """Sum up what is old when the session has reached its limit; None when nothing was done.

        Raises SpendCapReached and Interrupted.
        """
        limit = self._room.limit
        if limit is None or self.tokens < limit:
            return None
        return self._compact(limit)

    def overflowed(self) -> Shortened | None:
        """Sum up although the limit is not reached: the model said that it is too long."""
        return self._compact(min(self._room.limit or self.tokens, self.tokens // 2))

    def compact(self) -> Shortened | None:
        """Sum up now, because somebody asks for it; at least the last turn stays as it is."""
        limit = self._room.limit or self._room.takes or self.tokens
        budget = self._budget(limit)
        if of_messages(self.messages) <= budget:
            budget = last_turn(self._with_request(), of_message)
        return self._cut(plan(self._with_request(), budget, of_message), self._budget(limit))

    def _compact(self, limit: int) -> Shortened | None:
        budget = self._budget(limit)
        found = plan(self._with_request(), budget, of_message)
        gone = of_messages(self.messages) - of_messages(found.shown)
        # What takes little away would be asked for again with every turn.
        return self._cut(found, budget) if gone >= budget * _KEPT / _WORTH else None

    def _budget(self, limit: int) -> int:
        """Return what stays to the letter of a limit, in our tokens where the provider has more."""
        ours, counted = of_messages(self.messages), self.tokens - self._room.fixed()
        return int(limit * min(1.0, ours / max(1, counted))) // _KEPT

    def _cut(self, found: Plan, budget: int) -> Shortened | None:
        if not found.shortens:
            return None
        before, previous, told = of_messages(self.messages), self._summary, len(self.notices)
        record = _record(found, self._summed_up(previous, found, budget))
        if self._length(record) >= before:
            why = "the summary is longer than what it stands for"
            record = _record(found, self._dropped(previous, why, budget))
        if self._length(record) >= before:
            # So little that even a note of the gap is longer.
            del self.notices[told:]
            return None
        self._shown = self._after(record, self._write(record))
        self._stored = list(self._shown.messages)
        after = of_messages(self.messages)
        _log.info("compacted", session=self._room.session_id, before=before, after=after)
        return Shortened(before, after)

    def _length(self, record: Compaction) -> int:
        return of_messages(view(self._after(record, 0)))

    def _after(self, record: Compaction, number: int) -> Transcript:
        return transcript.cut(self._with_request(), record, number)

    @property
    def _summary(self) -> str:
        return self._shown.compaction.summary if self._shown.compaction else ""

    def _with_request(self) -> list[StoredMessage]:
        request = self._shown.request
        return [*([request] if request is not None else []), *self._stored]

    def _summed_up(self, previous: str, found: Plan, budget: int) -> str:
        """Return the summary; the one before and a note of the gap when none can be made."""
        if not found.folded:
            return previous
        room = self._room
        # Half of what the model takes leaves room for its answer, and for a wrong guess.
        takes = (room.takes or budget * _KEPT) // 2
        request = summary_request(previous, found.folded, takes, room.labels)
        try:
            answer = self._answer(request).strip()
        except SpendCapReached:
            raise
        except (LlmError, ConfigurationError) as error:
            return self._dropped(previous, str(error), budget)
        if not answer:
            return self._dropped(previous, "the model gave an empty summary", budget)
        return shortened(answer, max(_SHORTEST_SUMMARY, budget * _CHARACTERS))

    def _answer(self, request: LlmRequest) -> str:
        room = self._room
        finished: Finished | None = None
        for event in room.models.stream(room.chain, request, room.context.interrupt):
            if isinstance(event, Finished):
                finished = event
        return (
            ""
            if finished is None
            else "".join(block.text for block in finished.blocks if block.type == "text")
        )

    def _dropped(self, previous: str, why: str, budget: int) -> str:
        self.notices.append(_DROPPED.format(why=why.rstrip(".")))
        _log.warning("no summary", session=self._room.session_id, why=why)
        kept = shortened(previous, max(_SHORTEST_SUMMARY, budget * _CHARACTERS) // 2)
        return f"{kept}\n\n{_GAP}".strip()

    def _write(self, record: Compaction) -> int:
        context, session = self._room.context, self._room.session_id
        context.failpoints.hit("compaction.write.before")
        with context.database.transaction() as work:
            context.guard(work)
            number = compactions.add(work, session, context.job.id, record)
            if number is None:
                # Only the session's running turn appends, so another one owns it.
                raise Interrupted(Reason.LEASE_LOST)
        context.failpoints.hit("compaction.write.after")
        return number


def _record(found: Plan, summary: str) -> Compaction:
    """Return the record of a cut."""
    return Compaction(
        first_kept=found.kept[0].seq,
        transcript_length=found.kept[-1].seq,
        summary=summary,
        request_seq=found.request.seq if found.request is not None else None,
        result_limit=found.result_limit,
    )
