"""What the model saw: a request by its parts, with what each takes of it.

It is put together again from what is stored: the frozen prompt, the transcript, the compactions.
The tools are those of today, since what they were then is not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from habakkuk.agent.compaction.plan import with_short_results
from habakkuk.agent.compaction.view import view
from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.service import Conversations, Viewer
from habakkuk.conversations.store import compactions, inspections, transcript
from habakkuk.conversations.store.inspections import SeenCall
from habakkuk.conversations.types import Compaction, Session, StoredMessage, Transcript
from habakkuk.core.errors import NotFound
from habakkuk.core.text import shorten
from habakkuk.db.engine import Database
from habakkuk.llm.contract import Profile
from habakkuk.llm.counting import Count, guess, of_message
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.types import Message, ModelRef, Role, ToolSpec

_EXCERPT = 300


@dataclass(frozen=True)
class Part:
    """One part of a request. `kind` is prompt, tools, summary or message; `seq` a message's place.

    `cut` says that it was sent shorter than it is stored.
    """

    kind: str
    name: str
    tokens: int
    excerpt: str
    seq: int | None = None
    cut: bool = False


@dataclass(frozen=True)
class Inspection:
    """What the last call of a turn was sent.

    `counted` is its length in tokens as the provider counted it, None where it said nothing;
    `cached` is how much of that it had in its cache. The tokens of `parts` are our own count of
    each. `left_out` is how many earlier messages a summary stands for. `recalled` is what memory
    added and why; nothing adds anything yet.
    """

    session: Session
    turn: str
    parts: Sequence[Part]
    counted: int | None
    cached: int | None
    left_out: int
    calls: Sequence[SeenCall]
    recalled: Sequence[str] = field(default_factory=tuple)

    @property
    def tokens(self) -> int:
        """The parts together."""
        return sum(part.tokens for part in self.parts)


class Inspections:
    """Looks back at model calls; it holds nothing of its own."""

    def __init__(
        self,
        database: Database,
        specs: Callable[[str, str], Sequence[ToolSpec]],
        personalities: Personalities,
        count: Count = guess,
    ) -> None:
        """`specs` gives the tools that an agent is told of in a session; `count` counts tokens."""
        self._database = database
        self._conversations = Conversations(database)
        self._specs = specs
        self._personalities = personalities
        self._count = count

    def of(self, viewer: Viewer, session_id: str, turn: str | None = None) -> Inspection:
        """Return what a turn's last call saw, the latest turn's without one. Raises NotFound."""
        session = self._conversations.session(viewer, session_id)
        stored = transcript.load(self._database, session_id)
        answer = _answer(stored, turn)
        records = compactions.of_session(self._database, session_id)
        before = [record for record in records if record.transcript_length < answer.seq]
        record = before[-1] if before else None
        earlier = [item for item in stored if item.seq < answer.seq]
        shown = (
            transcript.cut(earlier, record, len(before))
            if record is not None
            else Transcript(earlier)
        )
        calls = inspections.calls_of(self._database, answer.job_id)
        counted = next((call for call in reversed(calls) if call.answered and call.input), None)
        return Inspection(
            session,
            answer.job_id,
            [*self._fixed(session, _profile(counted)), *self._messages(shown)],
            counted.input if counted else None,
            counted.cached if counted else None,
            len(earlier) - len(shown.messages) - (shown.request is not None),
            calls,
        )

    def calls(self, viewer: Viewer, turn: str) -> Sequence[SeenCall]:
        """Return the model calls of a turn, failed ones too, oldest first. Raises NotFound."""
        return inspections.calls_of(self._database, self._conversations.turn(viewer, turn).id)

    def _fixed(self, session: Session, profile: Profile) -> list[Part]:
        """Return the frozen prompt and the tools, as the model takes them."""
        named = inspections.prompt_parts(self._database, session.id)
        if session.personality and (said := self._personalities.text(session.personality)):
            named = [*named, (f"personality: {session.personality}", said)]
        if profile.simple_prompt is not None:
            named = [("for a small model", profile.simple_prompt)]
        parts = [
            Part("prompt", name, self._count(text), shorten(text, _EXCERPT)) for name, text in named
        ]
        specs = self._specs(session.agent, session.id) if profile.tools else ()
        if specs:
            wire = orjson.dumps([[s.name, s.description, s.parameters] for s in specs]).decode()
            names = ", ".join(spec.name for spec in specs)
            parts.append(Part("tools", _several(len(specs), "tool"), self._count(wire), names))
        return parts

    def _messages(self, shown: Transcript) -> list[Part]:
        parts = []
        record = shown.compaction
        if record is not None and record.summary:
            (summary, *_) = view(Transcript((), record))
            parts.append(self._part("summary", "what was said before", summary))
        kept = [*([shown.request] if shown.request else []), *shown.messages]
        return [*parts, *(self._message(item, record) for item in kept)]

    def _message(self, item: StoredMessage, record: Compaction | None) -> Part:
        sent = item.message
        if record is not None and record.first_kept <= item.seq <= record.transcript_length:
            sent = with_short_results(sent, record.result_limit)
        cut = sent is not item.message
        return self._part("message", _kind(item.message), sent, item.seq, cut=cut)

    def _part(
        self, kind: str, name: str, message: Message, seq: int | None = None, *, cut: bool = False
    ) -> Part:
        tokens = of_message(message, self._count)
        return Part(kind, name, tokens, shorten(_told(message), _EXCERPT), seq, cut)


def _answer(stored: Sequence[StoredMessage], turn: str | None) -> StoredMessage:
    """Return the last answer of a turn, or of the session. Raises NotFound."""
    found = [
        item
        for item in stored
        if item.message.role is Role.ASSISTANT and turn in (None, item.job_id)
    ]
    if not found:
        what = f"the turn {turn!r}" if turn else "this session"
        raise NotFound(f"no model has answered in {what} yet")
    return found[-1]


def _profile(call: SeenCall | None) -> Profile:
    """Return what is known of the model that answered; the usual when nobody knows which."""
    return Profile() if call is None else profile_for(ModelRef.parse(call.model))


def _kind(message: Message) -> str:
    kinds = [block.type for block in message.blocks]
    if "tool_result" in kinds:
        return _several(kinds.count("tool_result"), "result")
    if "tool_call" in kinds:
        return "calls " + ", ".join(call.name for call in message.calls)
    return "user" if message.role is Role.USER else "assistant"


def _several(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _told(message: Message) -> str:
    """Return how a message reads in short."""
    texts: list[str] = []
    for block in message.blocks:
        given: Any = getattr(block, "text", None)
        if given is None and block.type == "tool_call":
            given = f"{block.name} {orjson.dumps(block.input).decode()}"
        texts.append(given if given is not None else f"({block.type})")
    return " ".join(" ".join(texts).split())
