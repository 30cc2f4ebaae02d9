"""Conversations as plain data (design: blueprint §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from habakkuk.conversations.files import (
    LOST,
    UNPLACED,
    Attached,
    Awaited,
    awaited_of,
    files_of,
)
from habakkuk.llm.types import Media, Message


@dataclass(frozen=True)
class Address:
    """Where a conversation takes place: ids of the platform, never names."""

    channel: str
    account: str
    chat: str
    thread: str = ""


# The key of a turn's reply_to under which its target stands.
TARGET = "target"


@dataclass(frozen=True)
class Target:
    """Where answers go outside, fixed when the message came in: never "the last channel" (K59).

    `account` is a name in config.yaml, the other ids are the platform's; `message` is what is
    answered. `queue` is who sends: any worker, or the process that holds the connection.
    `subject` is that of a mail.
    """

    account: str
    chat: str
    thread: str = ""
    message: str | None = None
    queue: str = "deliveries"
    subject: str = ""


@dataclass(frozen=True)
class Conversation:
    """An address with its current session. `chosen`: a person chose its agent."""

    id: str
    address: Address
    user_id: str | None
    agent: str
    session_id: str
    next_seq: int
    title: str | None = None
    chosen: bool = False

    def of(self, agent: str) -> Conversation:
        """Return it as another agent's."""
        return replace(self, agent=agent)


@dataclass(frozen=True)
class Session:
    """A transcript's frame. `system_prompt` is None until its first turn froze it.

    `model` (provider/model), `effort` and `personality` are those chosen for it, None for what its
    agent has.
    """

    id: str
    conversation_id: str
    agent: str
    user_id: str | None
    system_prompt: str | None
    title: str | None
    created: datetime
    updated: datetime
    model: str | None = None
    effort: str | None = None
    personality: str | None = None


class Author(StrEnum):
    """Who wrote a chat message. `system` is Habakkuk itself, not the agent."""

    USER = "user"
    AGENT = "agent"
    SYSTEM = "system"


class ChatKind(StrEnum):
    """What a chat message is. A typed value, so that no marker text is ever sent or parsed.

    `event`: Habakkuk says that something happened, which begins a turn as a person's message does.
    `steer`: a person's guidance for a turn that runs. `file` and `poll`: the agent sends one while
    its turn runs.
    """

    MESSAGE = "message"
    COMMAND = "command"
    APPROVAL = "approval"
    QUESTION = "question"
    STEER = "steer"
    NOTICE = "notice"
    EVENT = "event"
    ERROR = "error"
    FILE = "file"
    POLL = "poll"


class ChatState(StrEnum):
    """Where a chat message stands: people's go queued to taken or withdrawn, ours are sent."""

    QUEUED = "queued"
    TAKEN = "taken"
    WITHDRAWN = "withdrawn"
    SENT = "sent"


# The keys of a chat message's data that say who wrote it, in a group, what of it cannot be read,
# that a program wrote it, and that strangers' words may stand in it.
WRITER = "writer"
UNREAD = "unread"
BOT = "bot"
OUTSIDE = "outside"
# A key of what a turn keeps of where its answer goes: it runs beside the conversation's session.
ASIDE = "aside"


@dataclass(frozen=True)
class Said:
    """A message that a turn has taken; `data` is that of its row, `seq` its place."""

    text: str
    at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    seq: int = 0

    @property
    def files(self) -> tuple[Attached, ...]:
        """What came with it."""
        return files_of(self.data)

    @property
    def awaited(self) -> tuple[Awaited, ...]:
        """What came with it and is still to be fetched."""
        return awaited_of(self.data)

    @property
    def unplaced(self) -> bool:
        """Whether its files are still to be put into the agent's workspace."""
        return bool(self.data.get(UNPLACED))

    @property
    def outside(self) -> bool:
        """Whether strangers' words may stand in it."""
        return bool(self.data.get(OUTSIDE))

    @property
    def writer(self) -> str:
        """What who wrote it is called; empty where only one person does."""
        return str(self.data.get(WRITER, ""))

    @property
    def unread(self) -> Sequence[str]:
        """What came with it that the model cannot look at."""
        return [*self.data.get(UNREAD, ()), *self.data.get(LOST, ())]


@dataclass(frozen=True)
class ChatMessage:
    """One row of a conversation's log; `seq` orders it."""

    conversation_id: str
    seq: int
    author: Author
    kind: ChatKind
    body: str
    data: dict[str, Any]
    state: ChatState
    turn_id: str | None
    created: datetime


@dataclass(frozen=True)
class NewChatMessage:
    """A chat message to write; `remote_id` is unique per account.

    With a `target` it goes outside, too, as `outside` where that says more than the body, with
    `buttons` (label, data) below it where the platform has some.
    """

    author: Author
    body: str
    state: ChatState
    kind: ChatKind = ChatKind.MESSAGE
    data: dict[str, Any] = field(default_factory=dict)
    user_id: str | None = None
    account: str | None = None
    remote_id: str | None = None
    turn_id: str | None = None
    target: Target | None = None
    outside: str = ""
    buttons: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Acceptance:
    """A message to accept, and the turn that it opens (`opens`) or joins.

    `agents` are those that the conversation may have; another one needs a switch first. `answers`:
    where a question is open it may be the answer, so it is not accepted without a look at that.
    """

    address: Address
    message: NewChatMessage
    turn_id: str
    agents: Sequence[str]
    origin: str
    reply_to: dict[str, Any]
    payload: dict[str, Any]
    kind: str
    queue: str
    session_id: str | None = None
    opens: bool = True
    joinable: bool = False
    delay: float = 0.0
    answers: bool = False


@dataclass(frozen=True)
class Accepted:
    """Where an accepted message stands, who answers it, and since when the turn is there.

    `behind`: a call of its session's turn waits for something, maybe for a person.
    """

    conversation_id: str
    session_id: str
    seq: int
    agent: str
    at: datetime
    behind: bool = False


class Outcome(StrEnum):
    """How a turn ended."""

    ANSWERED = "answered"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class Turn:
    """One turn. `reply_seq` is the chat row of its answer."""

    id: str
    session_id: str
    conversation_id: str
    user_id: str | None
    agent: str
    origin: str
    reply_to: dict[str, Any]
    began: datetime | None
    ended: datetime | None
    outcome: Outcome | None
    reply_seq: int | None
    created: datetime

    @property
    def target(self) -> Target | None:
        """Where the answer goes outside; None for local conversations."""
        found = self.reply_to.get(TARGET)
        return Target(**found) if found else None


@dataclass(frozen=True)
class StoredMessage:
    """A transcript message with its place.

    `tokens` is what the call that wrote it had read and written together, None where it was none
    or nobody counted; `notices` is what its user is to be told at the end of the turn.
    """

    seq: int
    job_id: str
    step: int
    message: Message
    tokens: int | None = None
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compaction:
    """A summary that stands for the messages before `first_kept` (a seq of the transcript).

    `request_seq` is a message before the cut that stays all the same: the request of the turn that
    was cut inside. Results of tools up to `transcript_length`, which is where the transcript ended,
    are shown with at most `result_limit` characters. `job_id` is the job that made it.
    """

    first_kept: int
    transcript_length: int
    summary: str
    request_seq: int | None = None
    result_limit: int | None = None
    created: datetime | None = None
    job_id: str = ""


@dataclass(frozen=True)
class Transcript:
    """What a model sees of a session: the messages from the latest compaction on, oldest first.

    `request` is the one that stays from before the cut. `number` is that of the compaction, 0 for
    none.
    """

    messages: Sequence[StoredMessage]
    compaction: Compaction | None = None
    request: StoredMessage | None = None
    number: int = 0


class CallState(StrEnum):
    """Where a tool call stands in the journal."""

    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"


@dataclass(frozen=True)
class JournalEntry:
    """One tool call as recorded. `text`, `is_error` and `media` are its result once done.

    `started` is False for one that waits for a person before it may begin.
    """

    call_id: str
    name: str
    input: dict[str, Any]
    state: CallState
    started: bool
    text: str = ""
    is_error: bool = False
    media: tuple[Media, ...] = ()


def serial_key(session_id: str) -> str:
    """Return the key under which the jobs of a session run one after the other."""
    return f"s:{session_id}"


def session_of(serial_key: str | None) -> str | None:
    """Return the session of a serial key, None when the key is another kind's."""
    return serial_key[2:] if serial_key and serial_key.startswith("s:") else None
