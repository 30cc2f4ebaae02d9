"""The invariants, checked from outside when all is quiet: from rows, marks and clients' answers.

What must hold for every ask: one user row, one answer row, the right text, the same text at its
client, each effect at most once (exactly once unless its result says interrupted). For every
conversation: no gap in its sequence, answers in the order of the questions. For every session: a
valid transcript in which no two turns are mixed, and which agrees with the journal of calls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from scripts.drills.asks import Ask, Surface
from scripts.drills.outgoing import Outgoing
from scripts.drills.transcripts import faults_of
from scripts.drills.world import World

_SHOWN = 20
_CHAT = """
    SELECT conversation_id, seq, author, kind, body, state, turn_id, data ->> 'approval' AS question
    FROM chat_messages
    ORDER BY conversation_id, seq
"""
_MESSAGES = "SELECT session_id, seq, job_id, step, role, blocks FROM messages ORDER BY 1, 2"
_CALLS = "SELECT session_id, call_id, state, result FROM tool_calls"
_JOBS = "SELECT id, state, crashes, attempt, error FROM jobs"
_ASIDE = "was set aside"


@dataclass
class Verdict:
    """What was found. `details` says the first few of what is wrong."""

    asks: int = 0
    unanswered: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    effects_twice: int = 0
    effects_missing: int = 0
    disorder: int = 0
    invalid: int = 0
    open_jobs: int = 0
    set_aside: int = 0
    interrupted: int = 0
    uncertain: int = 0
    details: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every invariant holds."""
        counted = (self.unanswered, self.lost, self.doubled, self.wrong, self.effects_twice)
        more = (self.effects_missing, self.disorder, self.invalid, self.open_jobs)
        return not any((*counted, *more))

    def note(self, what: str, detail: str) -> None:
        """Count one fault."""
        setattr(self, what, getattr(self, what) + 1)
        if len(self.details) < _SHOWN:
            self.details.append(f"{what}: {detail}")

    def figures(self) -> dict[str, Any]:
        """Return all of it as JSON."""
        return {"ok": self.ok, **asdict(self)}


class Checker:
    """One look at everything, when nothing runs any more."""

    def __init__(self, world: World, asks: Sequence[Ask], unfinished: Collection[str] = ()) -> None:
        """Read what there is.

        Turns of the sessions `unfinished` failed, so that what is stored of them may stop anywhere:
        what is sent of it is mended, which the model's own checks see.
        """
        self._asks = asks
        self._unfinished = unfinished
        self._chat = world.records.rows(_CHAT)
        self._messages = world.records.rows(_MESSAGES)
        self._calls = world.records.rows(_CALLS)
        self._jobs = {row["id"]: row for row in world.records.rows(_JOBS)}
        self._effects = Counter(world.effects())
        self._violations: list[str] = world.model_seen()["violations"]
        self._outgoing = Outgoing(world) if world.options.outside else None
        self._verdict = Verdict(asks=len(asks))
        self._replies: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._users: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._questions: Counter[str] = Counter()
        for row in self._chat:
            if row["author"] == "user":
                self._users[row["body"]].append(row)
            elif row["question"] is not None:
                self._questions[row["question"]] += 1
            elif row["turn_id"] is not None:
                self._replies[row["turn_id"]].append(row)

    def verdict(self) -> Verdict:
        """Check all invariants."""
        for ask in self._asks:
            self._check_ask(ask)
        for question, count in self._questions.items():
            if count > 1:
                self._verdict.note("doubled", f"the question {question} was asked {count} times")
        self._check_conversations()
        self._check_transcripts()
        self._check_outgoing()
        for fault in self._violations:
            self._verdict.note("invalid", f"the model refused a request: {fault}")
        for job in self._jobs.values():
            if job["state"] in ("pending", "running", "waiting"):
                self._verdict.note("open_jobs", f"{job['id']} is still {job['state']}")
        return self._verdict

    def _check_ask(self, ask: Ask) -> None:
        rows = self._users.get(ask.text, [])
        if ask.problem:
            self._verdict.note("unanswered", f"{ask.id} ({ask.surface}): {ask.problem}")
        if not rows:
            if ask.accepted is not None or ask.answers:
                self._verdict.note("lost", f"{ask.id} was acknowledged and is not there")
            return
        if len(rows) > 1:
            self._verdict.note("doubled", f"{ask.id} has {len(rows)} user rows")
        self._check_replies(ask, rows[0])

    def _check_replies(self, ask: Ask, row: dict[str, Any]) -> None:
        replies = self._replies.get(row["turn_id"], [])
        if len(replies) > 1:
            self._verdict.note("doubled", f"{ask.id} has {len(replies)} answers")
        if not replies:
            self._verdict.note("lost", f"{ask.id} has no answer")
            return
        body = str(replies[0]["body"])
        if replies[0]["author"] == "system":
            self._count_failure(ask, row["turn_id"], body)
            return
        if fault := ask.fault_of(body):
            self._verdict.note("wrong", f"{ask.id}: the answer {fault}")
        for answer in ask.answers:
            # A channel's answer comes in parts, without the blanks at the breaks.
            if answer.split() != body.split():
                self._verdict.note("wrong", f"{ask.id}: its client got {answer[:80]!r}")
        for fault in ask.faults:
            self._verdict.note("doubled", f"{ask.id}: {fault}")
        self._check_effects(ask, body)

    def _count_failure(self, ask: Ask, turn: str, body: str) -> None:
        """Count a lost answer, or a job that was set aside: killed three times without progress."""
        job = self._jobs.get(turn)
        if job is not None and _ASIDE in str(job["error"]):
            self._verdict.set_aside += 1
            self._verdict.details.append(f"set aside: {ask.id}: {job['error']}")
        else:
            self._verdict.note("lost", f"{ask.id} ended with: {body[:160]}")

    def _check_effects(self, ask: Ask, body: str) -> None:
        interrupted = ask.interrupted(body)
        self._verdict.interrupted += len(interrupted)
        for mark in ask.marks:
            count = self._effects[mark]
            if count > 1:
                self._verdict.note("effects_twice", f"{mark} happened {count} times")
            elif count == 0 and mark not in interrupted:
                self._verdict.note("effects_missing", f"{mark} is said to be done and is not")

    def _check_conversations(self) -> None:
        for conversation, rows in _grouped(self._chat, "conversation_id"):
            numbers = [row["seq"] for row in rows]
            if numbers != list(range(1, len(rows) + 1)):
                self._verdict.note("disorder", f"{conversation} has gaps: {numbers[:20]}")
            asked = [row["turn_id"] for row in rows if row["author"] == "user"]
            # A notice that a message waits belongs to no turn.
            said = [row for row in rows if row["question"] is None and row["turn_id"] is not None]
            replied = [row["turn_id"] for row in said if row["author"] != "user"]
            if [turn for turn in asked if turn in set(replied)] != replied:
                self._verdict.note("disorder", f"{conversation}: answers in another order")
        sent: dict[str, list[str]] = defaultdict(list)
        for ask in self._asks:
            if ask.surface is Surface.CHAT and ask.text in self._users:
                sent[ask.conversation].append(ask.text)
        for room, texts in sent.items():
            places = [self._users[text][0]["seq"] for text in texts]
            if places != sorted(places):
                self._verdict.note("disorder", f"{room}: questions in another order")

    def _check_outgoing(self) -> None:
        if self._outgoing is not None:
            self._verdict.uncertain = self._outgoing.uncertain
            for fault in self._outgoing.faults():
                self._verdict.note(fault.what, fault.detail)

    def _check_transcripts(self) -> None:
        calls: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        for row in self._calls:
            calls[row["session_id"]][row["call_id"]] = row
        for session, rows in _grouped(self._messages, "session_id"):
            if session in self._unfinished:
                continue
            for fault in faults_of(rows, calls.get(session, {})):
                self._verdict.note("invalid", f"{session}: {fault}")


def _grouped(
    rows: Iterable[dict[str, Any]], key: str
) -> Iterable[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row[key]].append(row)
    return groups.items()
