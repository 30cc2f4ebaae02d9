"""The job kind `delivery`: one answer to its platform, each message once (design: blueprint §8).

Before a message goes out its chunk is committed as sending, and as sent with the platform's id
afterwards. A chunk that a later run finds in sending, or whose outcome the platform did not tell,
is unknown: a platform that drops repeated keys gets it again, one that can be asked is asked, and
for any other the account's policy decides, counted and visible.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

from habakkuk.blobs.service import Blobs
from habakkuk.channels.contract import Certainty, Feature, NotSent, OutcomeUnknown
from habakkuk.channels.messages import Button, OutboundMessage, Receipt
from habakkuk.channels.registry import Adapter, Channels, Line
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import UnknownPolicy
from habakkuk.core.errors import ConfigurationError
from habakkuk.core.ids import derive
from habakkuk.core.interrupt import Interrupted, Reason
from habakkuk.core.log import get_logger
from habakkuk.db.engine import Work
from habakkuk.delivery import store
from habakkuk.delivery.carried import Carried, in_words
from habakkuk.delivery.drafts import Draft, take_away
from habakkuk.delivery.split import split
from habakkuk.delivery.types import Chunk, ChunkState, Delivery, DeliveryState, Mark
from habakkuk.jobs.contract import JobContext
from habakkuk.jobs.store.lease import Lease
from habakkuk.jobs.types import Job, JobState, Queue

_log = get_logger("delivery")
DELIVERY_KIND = "delivery"
# Nobody wants yesterday's answers when a server comes back (reliability.md, §2.7).
_LONGEST = timedelta(hours=24)
_ARRIVAL_SECONDS = 2.0
_LATE = "it was not sent within a day"
_HELD = (
    "whether the last message arrived is unknown, and the account says to hold it then; retry the"
    " job to send it, maybe a second time"
)

Undeliverable = Callable[[str, str], None]


class DeliveryHandler:
    """Sends what the conversations have to say outside."""

    kind = DELIVERY_KIND
    queue = Queue.DELIVERIES

    def __init__(
        self, channels: Channels, clock: Clock, undeliverable: Undeliverable, blobs: Blobs
    ) -> None:
        """`undeliverable` is told of a question (its wait) that nobody will see, and why."""
        self._channels = channels
        self._clock = clock
        self._undeliverable = undeliverable
        self._blobs = blobs

    def run(self, context: JobContext) -> None:
        """Send what has not been sent."""
        delivery = store.load(context.database, context.job.id)
        if delivery is None:
            return
        try:
            if self._clock.now() - delivery.created > _LONGEST:
                _Sending(context, delivery, self._blobs).end(DeliveryState.EXPIRED, _LATE)
                return
            sending, line = _Sending(context, delivery, self._blobs), self._line(delivery)
            if delivery.removal is not None:
                sending.remove(line.adapter, delivery.removal)
            else:
                sending.send(line)
        except NotSent as error:
            if not error.retryable:
                self._cannot_ask(delivery, str(error))
            raise

    def lock(self, work: Work, job: Job) -> None:
        """Need no lock before the job's."""

    def ended(self, work: Work, job: Job, state: JobState, reason: str) -> None:
        """Note that the delivery was given up."""
        store.give_up(work, job.id, reason if state is JobState.FAILED else f"{state}: {reason}")

    def reopen(self, work: Work, job: Job) -> None:
        """Let it go out once more."""
        store.reopen(work, job.id)

    def _line(self, delivery: Delivery) -> Line:
        name = delivery.target.account
        try:
            line = self._channels.line(name)
        except ConfigurationError as error:
            raise NotSent(str(error), retryable=True) from error
        if line is None:
            raise NotSent(f"the account {name!r} is no longer in config.yaml")
        return line

    def _cannot_ask(self, delivery: Delivery, reason: str) -> None:
        """Deny a question that nobody will see, before its delivery is given up (case K55)."""
        asked = delivery.data.get("approval") or delivery.data.get("question")
        if asked is not None:
            self._undeliverable(asked, reason)


class _Unshown(Exception):
    """The platform takes the message, and not the file or the poll that it brings."""


class _Sending:
    """One run of one delivery."""

    def __init__(self, context: JobContext, delivery: Delivery, blobs: Blobs) -> None:
        self._context = context
        self._delivery = delivery
        self._blobs = blobs
        self._lease = Lease(delivery.id, context.fence)

    def send(self, line: Line) -> None:
        """Send every chunk in order, and end the delivery with the last."""
        self._take_draft_away(line.adapter)
        chunks = self._delivery.chunks or self._plan(line)
        for chunk in chunks:
            if chunk.state is ChunkState.SENT:
                continue
            self._context.interrupt.check()
            receipt = self._settled(line, chunk, len(chunks))
            if receipt is None:
                return
            sent = Mark(chunk.n, ChunkState.SENT, receipt.id)
            if chunk.n == len(chunks):
                self.end(DeliveryState.SENT, last=sent)
                return
            self._mark(sent)
            self._context.moved_on_elsewhere()
        self.end(DeliveryState.SENT)

    def remove(self, adapter: Adapter, draft: str) -> None:
        """Take a message of progress away that could not be taken away at once."""
        adapter.undraft(self._delivery.target.chat, draft)
        self.end(DeliveryState.SENT)

    def _take_draft_away(self, adapter: Adapter) -> None:
        """Take the turn's message of progress away."""
        delivery, context = self._delivery, self._context
        if delivery.draft is not None and delivery.turn_id is not None:
            draft = Draft(delivery.turn_id, delivery.target, delivery.draft)
            take_away(context.database, context.failpoints, adapter, draft)

    def end(self, state: DeliveryState, error: str | None = None, last: Mark | None = None) -> None:
        """End delivery and job in one commit."""
        context = self._context
        self._hit("delivery.end.before")
        self._held(store.end(context.database, self._lease, state, error, last))
        context.finished_elsewhere()
        self._hit("delivery.end.after")

    def _plan(self, line: Line) -> Sequence[Chunk]:
        """Store the parts: a later run sends the same, whatever limits or code say by then."""
        delivery, adapter = self._delivery, line.adapter
        text = Carried.by(adapter, delivery, self._blobs).text
        parts = split(text, adapter.limit, adapter.length)
        chunks = [
            Chunk(n, derive("msg", delivery.id, str(n)), part, ChunkState.PENDING)
            for n, part in enumerate(parts, 1)
        ]
        self._held(store.plan(self._context.database, self._lease, chunks))
        self._hit("delivery.plan.after")
        return chunks

    def _settled(self, line: Line, chunk: Chunk, parts: int) -> Receipt | None:
        """Return the receipt of a chunk, sent now or before; None when the delivery is held."""
        adapter = line.adapter
        message = self._message(adapter, chunk, parts)
        repeat = chunk.state in {ChunkState.SENDING, ChunkState.UNKNOWN}
        if repeat and adapter.certainty is Certainty.READ_BACK:
            self._let_arrive()
            found = adapter.find(message)
            if found is not None:
                return found
        doubtful = repeat and adapter.certainty is Certainty.NONE
        if doubtful and line.config.unknown is UnknownPolicy.HOLD and not self._let_go():
            self.end(DeliveryState.HELD, _HELD, Mark(chunk.n, ChunkState.UNKNOWN))
            return None
        self._mark(Mark(chunk.n, ChunkState.SENDING, uncertain=doubtful))
        self._hit("delivery.send.before")
        try:
            return self._sent(adapter, chunk, message)
        except _Unshown as refused:
            return self._settled(line, self._put_in_words(chunk, refused), parts)

    def _let_arrive(self) -> None:
        """Wait before asking for what a worker sent that died meanwhile, or that had no answer.

        The platform may not have looked at that request yet, or a proxy before it gave up while it
        still does: asked at once, it would deny it. The back-off may be no time at all.
        """
        self._context.interrupt.wait(_ARRIVAL_SECONDS)
        self._context.interrupt.check()

    def _let_go(self) -> bool:
        """Whether a person asked for it: pending again, though it was split before."""
        return self._delivery.state is DeliveryState.PENDING and bool(self._delivery.chunks)

    def _sent(self, adapter: Adapter, chunk: Chunk, message: OutboundMessage) -> Receipt:
        try:
            receipt = adapter.send(message)
        except NotSent as error:
            if not error.retryable and (message.file is not None or message.poll is not None):
                raise _Unshown(str(error)) from error
            lasting = ChunkState.PENDING if error.retryable else ChunkState.FAILED
            self._mark(Mark(chunk.n, lasting))
            raise
        except OutcomeUnknown:
            self._mark(Mark(chunk.n, ChunkState.UNKNOWN))
            raise
        self._hit("delivery.send.after")
        return receipt

    def _put_in_words(self, chunk: Chunk, refused: _Unshown) -> Chunk:
        """Let words be the message for good, under a key of their own.

        A later run neither brings the file again nor says for another reason that it cannot.
        """
        words = in_words(self._delivery, chunk.body, str(refused))
        worded = Chunk(chunk.n, self._words_key(chunk), words, ChunkState.PENDING)
        self._held(store.replace_chunk(self._context.database, self._lease, worded))
        self._hit("delivery.words.after")
        return worded

    def _words_key(self, chunk: Chunk) -> str:
        return derive("msg", self._delivery.id, str(chunk.n), "words")

    def _carried(self, adapter: Adapter, chunk: Chunk) -> Carried:
        """Return what a chunk brings: the first that which the delivery has beside text."""
        if chunk.n > 1 or chunk.key == self._words_key(chunk):
            return Carried(chunk.body)
        return Carried.by(adapter, self._delivery, self._blobs)

    def _message(self, adapter: Adapter, chunk: Chunk, parts: int) -> OutboundMessage:
        delivery, target = self._delivery, self._delivery.target
        carried = self._carried(adapter, chunk)
        below = chunk.n == parts and Feature.BUTTONS in adapter.manifest.features
        buttons = tuple(Button(*made) for made in delivery.buttons) if below else ()
        return OutboundMessage(
            key=chunk.key,
            chat=target.chat,
            thread=target.thread,
            text=_text(carried, chunk, parts),
            kind=delivery.kind,
            reply_to=target.message,
            turn=delivery.turn_id,
            part=chunk.n,
            parts=parts,
            approval=delivery.data.get("approval"),
            buttons=buttons,
            subject=target.subject,
            file=carried.file,
            poll=carried.poll,
        )

    def _mark(self, mark: Mark) -> None:
        self._held(store.mark(self._context.database, self._lease, mark))

    @staticmethod
    def _held(held: bool) -> None:  # noqa: FBT001 - the answer of every statement
        if not held:
            raise Interrupted(Reason.LEASE_LOST)

    def _hit(self, name: str) -> None:
        self._context.failpoints.hit(name)


def _text(carried: Carried, chunk: Chunk, parts: int) -> str:
    """Return what a message says: of a poll that is shown as one nothing."""
    if carried.poll is not None:
        return ""
    # A file that was to be sent may be a line by now.
    return carried.text if parts == 1 and carried.file is None else chunk.body
