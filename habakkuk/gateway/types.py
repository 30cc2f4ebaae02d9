"""What an intake hands over, and what it learns."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from habakkuk.accounts.types import User
from habakkuk.conversations.files import Attached, Awaited
from habakkuk.conversations.types import Address, Target


@dataclass(frozen=True)
class Cursor:
    """Where an intake stands once this message is stored, such as the last update id."""

    name: str
    value: dict[str, Any]


@dataclass(frozen=True)
class Inbound:
    """One message as an intake understood it.

    `remote_id` names the message at its source: the same id again is a no-op. `joinable`: nobody
    waits for an answer of its own, so it may join a turn that has not begun. `session_id`
    continues that session whatever the conversation's current one is. `attended`: the person can
    be asked while the turn runs; without it what needs approval is denied at once. `approves`: a
    yes or no of theirs answers an open question, as far as their role goes. `target` is where
    answers go outside, None where they are only shown here. The bytes of `files` are stored
    before, those of `awaited` fetched before its turn takes it; `unplaced`: `files`, too, are to
    lie in the agent's workspace by then. `seed` is what a new session starts with, as transcript
    JSON. `fresh`: the address was made up for this message. `agent` None keeps the conversation's
    agent; `routed` is whose it is as long as nobody chose another. `event`:
    Habakkuk says it, not the person, whose turn it is all the same. `writer` is what a group calls
    who wrote it, `unread` what came with it that cannot be read; `bot`: a program wrote it;
    `outside`: strangers' words may stand in it. After `idle` seconds without a word it begins a
    fresh session.
    """

    address: Address
    user: User
    text: str
    origin: str
    remote_id: str | None = None
    agent: str | None = None
    routed: str | None = None
    session_id: str | None = None
    joinable: bool = False
    commands: bool = True
    attended: bool = False
    approves: bool = False
    files: tuple[Attached, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    unplaced: bool = False
    seed: list[dict[str, Any]] = field(default_factory=list)
    reply_to: dict[str, Any] = field(default_factory=dict)
    target: Target | None = None
    cursor: Cursor | None = None
    fresh: bool = False
    event: bool = False
    writer: str = ""
    unread: tuple[str, ...] = ()
    bot: bool = False
    outside: bool = False
    idle: float | None = None

    @property
    def file_count(self) -> int:
        """How many files come with it."""
        return len(self.files) + len(self.awaited)


@dataclass(frozen=True)
class Admitted:
    """What became of a message. `agent` and `at` are those of a turn accepted now, else None.

    `turn_id` is None for a command, whose `reply` is set, and whose `session_id` is the session
    that was the conversation's current one before it. `answers`: it answered the open question of
    that turn, which goes on. `behind`: a call of its session's turn waits for something.
    """

    conversation_id: str
    session_id: str
    seq: int
    turn_id: str | None
    reply: str | None = None
    duplicate: bool = False
    agent: str | None = field(default=None, compare=False)
    at: datetime | None = field(default=None, compare=False)
    answers: bool = field(default=False, compare=False)
    behind: bool = field(default=False, compare=False)
