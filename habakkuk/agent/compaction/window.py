"""What the model sees of a session, kept within what it takes (design: seed, Compaction).

A compaction is a record beside the transcript, written under the lease and only when nothing was
added since, so that a crash between the summary and its writing leaves the session as it was. It is
made at most once before each call of the model, and only where it takes a tenth of the limit away:
what cannot be made shorter is sent as it is, and the provider says what it thinks of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from habakkuk.agent.compaction.plan import Plan, last_turn, plan, shortened
from habakkuk.agent.compaction.summary import Models, NoSummary, asked_for, summary_request
from habakkuk.agent.compaction.view import view
from habakkuk.conversations.store import compactions, transcript
from habakkuk.conversations.types import Compaction, StoredMessage, Transcript
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.jobs.contract import JobContext
from habakkuk.llm.counting import exact_count, of_message, of_messages
from habakkuk.llm.types import Message, ModelRef

_log = get_logger("agent.compaction")
# Of the limit: what stays to the letter, and what a compaction must take away to be worth a call.
_KEPT = 5
_WORTH = 10
# Characters a token, low, so that what is cut by it fits.
_CHARACTERS = 3
_SHORTEST_SUMMARY = 1_000
# No text has twice as many tokens as a guess says, but for rare scripts.
_SURE = 2
DROPPED = (
    "Earlier messages of this session could not be summed up, so the model no longer sees them."
    " They stay in the session's history."
)
GAP = "[Messages after this point were left out: they could not be summed up.]"


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

    def __init__(self, room: Room, shown: Transcript, notices: list[str] | None = None) -> None:
        """Begin with what was loaded; what the user should know is added to `notices`."""
        self._room = room
        self._shown = shown
        self._stored = list(shown.messages)
        self._exact: dict[int, int] = {}
        self._notices = notices if notices is not None else []
        record = shown.compaction
        if record is not None and record.job_id == room.context.job.id and GAP in record.summary:
            # A run of this job that was killed since left it out, and told nobody.
            self._notices.append(DROPPED)

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
        return self._room.fixed() + self._counted_exactly()

    def _counted_exactly(self) -> int:
        """Return the count of a vocabulary; each message is counted once."""
        new = [item for item in self._stored if item.seq not in self._exact]
        if new:
            count = exact_count()
            self._exact.update((item.seq, of_message(item.message, count)) for item in new)
        known = sum(self._exact[item.seq] for item in self._stored)
        others = of_messages(self.messages) - of_messages(item.message for item in self._stored)
        return known + max(0, others)

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
        if limit is None or self.tokens < limit or not self._grown(limit):
            return None
        found = self._plan(self._budget(limit))
        # What takes little away would be asked for again with every step.
        if self._gone(found) < self._budget(limit) * _KEPT / _WORTH:
            return None
        takes = self._room.takes
        try:
            return self._cut(found, self._budget(limit))
        except NoSummary as failure:
            if failure.passing and (takes is None or self.tokens < takes):
                # It still fits; the next call tries again.
                _log.warning("no summary for now", session=self._room.session_id, why=str(failure))
                return None
            return self._drop(found, self._budget(limit), failure)

    def overflowed(self) -> Shortened | None:
        """Sum up although the limit is not reached: the model said that it is too long."""
        budget = self._budget(min(self._room.limit or self.tokens, self.tokens // 2))
        found = self._plan(budget)
        try:
            # Whatever is said of the model, it does not take as much as this.
            return self._cut(found, budget, min(self._room.takes or self.tokens, self.tokens) // 2)
        except NoSummary as failure:
            return self._drop(found, budget, failure)

    def compact(self) -> Shortened | None:
        """Sum up now, because somebody asks for it; at least the last turn stays as it is.

        Raises NoSummary when no summary can be made: then nothing is left out.
        """
        limit = self._room.limit or self._room.takes or self.tokens
        budget = self._budget(limit)
        if of_messages(self.messages) <= budget:
            budget = last_turn(self._with_request(), of_message)
        return self._cut(self._plan(budget), self._budget(limit))

    def _grown(self, limit: int) -> bool:
        """Whether enough has come since the last compaction to make another worth its call."""
        record = self._shown.compaction
        if record is None:
            return True
        new = [item.message for item in self._stored if item.seq > record.transcript_length]
        return of_messages(new) >= limit // _WORTH

    def _plan(self, budget: int) -> Plan:
        return plan(self._with_request(), budget, of_message)

    def _gone(self, found: Plan) -> int:
        """Return what a cut takes away, without the request that stays all the same."""
        stays = of_message(found.request.message) if found.request is not None else 0
        return of_messages(self.messages) - of_messages(found.shown) - stays

    def _budget(self, limit: int) -> int:
        """Return what stays to the letter of a limit, in our tokens where the provider has more."""
        ours, counted = of_messages(self.messages), self.tokens - self._room.fixed()
        return int(limit * min(1.0, ours / max(1, counted))) // _KEPT

    def _cut(self, found: Plan, budget: int, takes: int | None = None) -> Shortened | None:
        """Record a cut with its summary. Raises NoSummary. `takes`: less than is known of it."""
        if not found.shortens:
            return None
        summary = self._summed_up(found, budget, takes or self._room.takes or budget * _KEPT)
        record = record_of(found, summary)
        if self._length(record) >= of_messages(self.messages):
            raise NoSummary("the summary is longer than what it stands for", passing=False)
        return self._keep(record)

    def _drop(self, found: Plan, budget: int, failure: NoSummary) -> Shortened | None:
        """Record a cut without a summary of what it takes away; None when that shortens nothing."""
        most = max(_SHORTEST_SUMMARY, budget * _CHARACTERS) // 2
        record = record_of(found, f"{shortened(self._summary, most)}\n\n{GAP}".strip())
        if not found.shortens or self._length(record) >= of_messages(self.messages):
            return None
        _log.warning("no summary", session=self._room.session_id, why=str(failure))
        self._notices.append(DROPPED)
        return self._keep(record)

    def _keep(self, record: Compaction) -> Shortened:
        before = of_messages(self.messages)
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

    def _summed_up(self, found: Plan, budget: int, takes: int) -> str:
        """Return the summary of what is folded and of the one before. Raises NoSummary."""
        if not found.folded:
            return self._summary
        room = self._room
        # Half of what the model takes leaves room for its answer, and for a wrong guess.
        request = summary_request(self._summary, found.folded, takes // 2, room.labels)
        answer = asked_for(room.models, room.chain, request, room.context.interrupt)
        return shortened(answer, max(_SHORTEST_SUMMARY, budget * _CHARACTERS))

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


def record_of(found: Plan, summary: str) -> Compaction:
    """Return the record of a cut."""
    return Compaction(
        first_kept=found.kept[0].seq,
        transcript_length=found.kept[-1].seq,
        summary=summary,
        request_seq=found.request.seq if found.request is not None else None,
        result_limit=found.result_limit,
    )
