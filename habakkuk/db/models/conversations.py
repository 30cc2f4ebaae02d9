"""The record of what happened: addresses, transcripts, turns and what they used."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    ARRAY,
    REAL,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Numeric,
    Text,
    UniqueConstraint,
    func,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from habakkuk.db.models.base import Base, Big, Created, Key


class Conversation(Base):
    """An address. Its row is the lock of admission; `next_seq` numbers its chat messages.

    `question` is the wait that its next message may answer, `steered` the turns for which guidance
    came; all may have ended by now. `chosen`: a person chose its agent.
    """

    __tablename__ = "conversations"

    id: Mapped[Key]
    channel: Mapped[str]
    account: Mapped[str]
    chat: Mapped[str]
    thread: Mapped[str] = mapped_column(server_default="")
    user_id: Mapped[str | None] = mapped_column(
        ForeignKey("users.id", ondelete="SET NULL"), index=True
    )
    agent: Mapped[str]
    session_id: Mapped[str]
    next_seq: Mapped[Big] = mapped_column(server_default="1")
    question: Mapped[str | None]
    steered: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    title: Mapped[str | None]
    archived: Mapped[bool] = mapped_column(server_default="false")
    chosen: Mapped[bool] = mapped_column(server_default="false")
    created: Mapped[Created]
    updated: Mapped[Created]

    __table_args__ = (UniqueConstraint("channel", "account", "chat", "thread"),)


class Session(Base):
    """A transcript with the prompt that was frozen at its first turn.

    `model`, `effort` and `personality` are what a person chose for it, NULL for what its agent has;
    `todo` is the agent's task list, `corrections` are texts by the seq of the message that they
    replace, of which the model is told with its next turn.
    """

    __tablename__ = "sessions"

    id: Mapped[Key]
    conversation_id: Mapped[str] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True
    )
    agent: Mapped[str]
    user_id: Mapped[str | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    system_prompt: Mapped[str | None]
    prompt_parts: Mapped[list[Any] | None]
    title: Mapped[str | None]
    title_source: Mapped[str | None]
    archived: Mapped[bool] = mapped_column(server_default="false")
    forked_from: Mapped[str | None]
    model: Mapped[str | None]
    effort: Mapped[str | None]
    personality: Mapped[str | None]
    todo: Mapped[dict[str, Any] | None]
    corrections: Mapped[dict[str, Any] | None]
    created: Mapped[Created]
    updated: Mapped[Created]


class Turn(Base):
    """From the taken messages to the final answer. Outlives its job, whose id it shares."""

    __tablename__ = "turns"

    id: Mapped[Key]
    session_id: Mapped[str] = mapped_column(
        ForeignKey("sessions.id", ondelete="CASCADE"), index=True
    )
    conversation_id: Mapped[str] = mapped_column(
        ForeignKey("conversations.id", ondelete="CASCADE"), index=True
    )
    user_id: Mapped[str | None]
    agent: Mapped[str]
    origin: Mapped[str]
    reply_to: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    joinable: Mapped[bool] = mapped_column(server_default="false")
    tainted: Mapped[bool] = mapped_column(server_default="false")
    draft: Mapped[str | None]
    began: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    outcome: Mapped[str | None]
    reply_seq: Mapped[Big | None]
    incidents: Mapped[list[Any]] = mapped_column(server_default="[]")
    created: Mapped[Created]


class ChatMessage(Base):
    """What people and agents said at an address. `seq` is the order of commits."""

    __tablename__ = "chat_messages"

    conversation_id: Mapped[Key] = mapped_column(ForeignKey("conversations.id", ondelete="CASCADE"))
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    author: Mapped[str]
    kind: Mapped[str] = mapped_column(server_default="message")
    user_id: Mapped[str | None]
    account: Mapped[str | None]
    remote_id: Mapped[str | None]
    body: Mapped[str]
    data: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    state: Mapped[str]
    turn_id: Mapped[str | None] = mapped_column(index=True)
    created: Mapped[Created]

    __table_args__ = (
        CheckConstraint("author IN ('user', 'agent', 'system')", name="author_known"),
        CheckConstraint("state IN ('queued', 'taken', 'withdrawn', 'sent')", name="state_known"),
        Index(
            "chat_messages_remote",
            "account",
            "remote_id",
            unique=True,
            postgresql_where=text("remote_id IS NOT NULL"),
        ),
        Index("chat_messages_files", "conversation_id", postgresql_where=text("data ? 'files'")),
    )


class TranscriptMessage(Base):
    """What the model sees. Only a running turn appends, under its fence."""

    __tablename__ = "messages"

    session_id: Mapped[Key] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    job_id: Mapped[str]
    step: Mapped[int]
    role: Mapped[str]
    blocks: Mapped[list[Any]]
    meta: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    created: Mapped[Created]

    __table_args__ = (
        CheckConstraint("role IN ('user', 'assistant')", name="role_known"),
        UniqueConstraint("job_id", "step"),
        Index(
            "messages_media",
            "session_id",
            postgresql_where=text("""blocks @> '[{"type": "media"}]'"""),
        ),
    )


class ToolCallRow(Base):
    """The journal of tool calls: written before a call starts and as soon as it ends."""

    __tablename__ = "tool_calls"

    session_id: Mapped[Key] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    call_id: Mapped[Key]
    job_id: Mapped[str] = mapped_column(index=True)
    step: Mapped[int]
    name: Mapped[str]
    input: Mapped[dict[str, Any]]
    state: Mapped[str]
    result: Mapped[dict[str, Any] | None]
    # None for a call that waits for a person before it may begin.
    started: Mapped[datetime | None] = mapped_column(server_default=func.now())
    finished: Mapped[datetime | None]

    __table_args__ = (
        CheckConstraint("state IN ('running', 'waiting', 'done')", name="state_known"),
        Index("tool_calls_media", "session_id", postgresql_where=text("result ? 'media'")),
    )


class TaintedFile(Base):
    """A file that a turn wrote which had read content from outside; the path is absolute."""

    __tablename__ = "tainted_files"

    agent: Mapped[Key]
    path: Mapped[Key]
    written: Mapped[Created]


class Grant(Base):
    """A call that a person allowed for the rest of a session, by its fingerprint."""

    __tablename__ = "grants"

    session_id: Mapped[Key] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    fingerprint: Mapped[Key]
    user_id: Mapped[str]
    created: Mapped[Created]


class Compaction(Base):
    """A summary that stands for the messages before `first_kept`."""

    __tablename__ = "compactions"

    session_id: Mapped[Key] = mapped_column(ForeignKey("sessions.id", ondelete="CASCADE"))
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    first_kept: Mapped[Big]
    request_seq: Mapped[Big | None]
    result_limit: Mapped[int | None]
    transcript_length: Mapped[Big]
    summary: Mapped[str]
    job_id: Mapped[str]
    created: Mapped[Created]


class ModelUsage(Base):
    """What one model call used: the ledger of costs, independent of what is deleted.

    `cost` is in USD, None where the price is unknown; `seconds` to the end of the call,
    `first_token` to the first piece of its answer.
    """

    __tablename__ = "usage"

    id: Mapped[Key]
    at: Mapped[Created]
    turn_id: Mapped[str | None] = mapped_column(index=True)
    session_id: Mapped[str | None] = mapped_column(index=True)
    user_id: Mapped[str | None]
    agent: Mapped[str | None]
    provider: Mapped[str]
    model: Mapped[str]
    input: Mapped[int]
    output: Mapped[int]
    cache_read: Mapped[int]
    cache_write: Mapped[int]
    reasoning: Mapped[int]
    searches: Mapped[int] = mapped_column(server_default="0")
    cost: Mapped[Decimal | None] = mapped_column(Numeric(14, 8))
    purpose: Mapped[str] = mapped_column(server_default="answer")
    outcome: Mapped[str] = mapped_column(server_default="answered")
    seconds: Mapped[float] = mapped_column(REAL, server_default="0")
    first_token: Mapped[float | None] = mapped_column(REAL)

    # What the caps sum up before every call is read from the index alone.
    __table_args__ = (Index("usage_at", "at", postgresql_include=["user_id", "agent", "cost"]),)
