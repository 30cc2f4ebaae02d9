"""The shapes of the JSON API."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, StringConstraints

from habakkuk.conversations.types import ChatMessage, Session, Turn

# No slash, since it stands in paths, and no control characters.
ConversationName = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f\x7f\ufffd]+$")
]
Id = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
# Of dollars, without an exponent: 0.00000001, which others than Python read alike.
Amount = Annotated[Decimal, PlainSerializer(lambda amount: f"{amount:f}", return_type=str)]


class Body(BaseModel):
    """What every JSON body keeps to: nothing unknown, no type bent into another."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Query(BaseModel):
    """What every query string keeps to: nothing unknown."""

    model_config = ConfigDict(extra="forbid")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return the schema: flask-openapi asks for it at every request, and it takes 1 ms."""
        if args or kwargs:
            return super().model_json_schema(*args, **kwargs)
        return cls._plain_schema()

    @classmethod
    @cache
    def _plain_schema(cls) -> dict[str, Any]:
        return super().model_json_schema()


class FileBody(Body):
    """A file inside a message: its bytes in base64, alone or as a data: URI with its type."""

    data: str
    name: str | None = Field(default=None, max_length=1000)


class SendBody(Body):
    """A message to a conversation. The same `id` again changes nothing."""

    conversation: ConversationName
    text: str
    files: list[FileBody] = Field(default=[], max_length=20)
    agent: str | None = Field(default=None, max_length=100)
    id: str | None = Field(default=None, min_length=1, max_length=200)


class GuidanceBody(Body):
    """What the agent shall know while it works. The same `id` again changes nothing."""

    text: str = Field(min_length=1)
    id: str | None = Field(default=None, min_length=1, max_length=200)


class Sent(BaseModel):
    """What became of it: `turn` answers it, or `reply` did already when it was a command."""

    conversation: str
    turn: str | None
    session: str
    seq: int
    duplicate: bool
    reply: str | None


class ConversationPath(BaseModel):
    """The conversation in an address."""

    conversation: ConversationName


class IdPath(BaseModel):
    """The id in an address."""

    id: Id


class HistoryQuery(Query):
    """Which part of a history: the newest `limit` messages before `before`."""

    limit: int = Field(default=50, ge=1, le=200)
    before: int | None = Field(default=None, ge=1, le=2**62)


class EventsQuery(Query):
    """Where a stream goes on: after this sequence number."""

    after: int | None = Field(default=None, ge=0, le=2**62)


class ListQuery(Query):
    """How many to list."""

    limit: int = Field(default=50, ge=1, le=200)


class WaitQuery(Query):
    """How many seconds to wait for the turn's end."""

    wait: float = Field(default=0, ge=0, le=300, allow_inf_nan=False)


class MessageBody(BaseModel):
    """One chat message."""

    seq: int
    author: str
    kind: str
    text: str
    data: dict[str, Any]
    state: str
    turn: str | None
    created: datetime

    @classmethod
    def of(cls, row: ChatMessage) -> MessageBody:
        """Return a row as clients see it."""
        return cls(
            seq=row.seq,
            author=row.author,
            kind=row.kind,
            text=row.body,
            data=row.data,
            state=row.state,
            turn=row.turn_id,
            created=row.created,
        )


class HistoryBody(BaseModel):
    """Chat messages, oldest first."""

    conversation: str
    session: str
    messages: list[MessageBody]


class ListedBody(BaseModel):
    """One conversation of a list."""

    conversation: str
    agent: str
    session: str
    title: str | None
    last_seq: int
    updated: datetime


class ListBody(BaseModel):
    """The person's conversations, newest first."""

    conversations: list[ListedBody]


class TurnBody(BaseModel):
    """A turn: `state` is queued, running, waiting or ended, then with `outcome` and `reply`."""

    id: str
    session: str
    state: str
    outcome: str | None
    reply: MessageBody | None
    created: datetime
    began: datetime | None
    ended: datetime | None

    @classmethod
    def of(cls, turn: Turn, state: str, reply: ChatMessage | None) -> TurnBody:
        """Return a turn as clients see it."""
        return cls(
            id=turn.id,
            session=turn.session_id,
            state=state,
            outcome=turn.outcome,
            reply=MessageBody.of(reply) if reply is not None else None,
            created=turn.created,
            began=turn.began,
            ended=turn.ended,
        )


class ChoiceBody(Body):
    """What to choose for a session; "default" takes a choice back, what is left out stays."""

    model: str | None = Field(default=None, max_length=300)
    effort: str | None = Field(default=None, max_length=40)


class SessionBody(BaseModel):
    """A session without its transcript. `model` and `effort` are null where none is chosen."""

    id: str
    agent: str
    model: str | None
    effort: str | None
    title: str | None
    created: datetime
    updated: datetime

    @classmethod
    def of(cls, session: Session) -> SessionBody:
        """Return a session as clients see it."""
        return cls(
            id=session.id,
            agent=session.agent,
            model=session.model,
            effort=session.effort,
            title=session.title,
            created=session.created,
            updated=session.updated,
        )


class ChosenBody(BaseModel):
    """A session after a choice, and what is worth knowing of it."""

    session: SessionBody
    notes: list[str]


class SessionsBody(BaseModel):
    """Sessions, newest first."""

    sessions: list[SessionBody]


class TranscriptMessage(BaseModel):
    """One message as the model sees it."""

    seq: int
    turn: str
    role: str
    blocks: list[dict[str, Any]]


class TranscriptBody(BaseModel):
    """A session with its transcript."""

    session: SessionBody
    messages: list[TranscriptMessage]


class ErrorDetail(BaseModel):
    """What went wrong: `type` for programs, `message` for people."""

    type: str
    message: str


class ErrorBody(BaseModel):
    """Every error of the JSON API."""

    error: ErrorDetail
