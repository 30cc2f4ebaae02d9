"""What a chat command is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from habakkuk.accounts.types import Role, User
from habakkuk.conversations.files import Attached, Awaited
from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.types import Conversation, Target
from habakkuk.core.config.schema import Config
from habakkuk.db.engine import Database, Work
from habakkuk.jobs.service import Jobs
from habakkuk.llm.selection import Selection


@dataclass(frozen=True)
class Health:
    """What /status tells of the server, looked up before the command's transaction opens."""

    workers: int
    degraded: Sequence[str]
    model: str


@dataclass(frozen=True)
class Server:
    """What commands may know of the server; of its health only when they ask for it."""

    selection: Selection
    personalities: Personalities
    health: Callable[[], Health]
    put: Callable[[BinaryIO, str], str]


@dataclass(frozen=True)
class Ahead:
    """What a command works with before its transaction, while others may write to the conversation.

    `put` stores a file of a type and returns its blob.
    """

    database: Database
    conversation: Conversation
    put: Callable[[BinaryIO, str], str]


@dataclass(frozen=True)
class Prepared:
    """A file that was made of a conversation before its command ran.

    `session_id` is the session that was its current one: of another conversation, which may have
    come to its place since, it is none.
    """

    session_id: str
    file: Attached


@dataclass(frozen=True)
class CommandContext:
    """What a command runs with: an open transaction that holds the conversation's lock.

    `session_named`: the sender asked for this session, whichever is the conversation's current one.
    `target` is where answers go outside; `outside`: strangers' words may stand in the message.
    `heard` tells the hooks, after the commit, of words for an agent that the command passes on:
    which turn they are for, and what they are. `prepared` is what was made beforehand; None where
    the conversation is a new one.
    """

    work: Work
    conversation: Conversation
    user: User
    config: Config
    jobs: Jobs
    selection: Selection
    health: Health | None
    heard: Callable[[str, str], None]
    personalities: Personalities
    prepared: Prepared | None
    session_named: bool = False
    target: Target | None = None
    outside: bool = False


@dataclass(frozen=True)
class Words:
    """What is said to the agent in a command's place; `session_id` is where, if not here.

    `alone`: as a turn of its own, which begins at once where it can and no other message joins.
    """

    text: str
    session_id: str | None = None
    alone: bool = True
    files: tuple[Attached, ...] = ()
    awaited: tuple[Awaited, ...] = ()
    unplaced: bool = False
    unread: tuple[str, ...] = ()
    outside: bool = False


@dataclass(frozen=True)
class Command:
    """One command. The docstring of its function is its help text.

    `words` gives what is said to the agent in its place, as an ordinary message; None when it is to
    run by itself. `ahead` is the part that takes long.
    """

    name: str
    usage: str
    role: Role
    help: str
    run: Callable[[CommandContext, str], str]
    wants_health: bool
    aliases: tuple[str, ...] = ()
    words: Callable[[CommandContext, str], Words | None] | None = None
    ahead: Callable[[Ahead], Prepared] | None = None


def command(
    name: str,
    *,
    usage: str = "",
    role: Role = Role.MEMBER,
    wants_health: bool = False,
    aliases: tuple[str, ...] = (),
    words: Callable[[CommandContext, str], Words | None] | None = None,
) -> Callable[[Callable[[CommandContext, str], str]], Command]:
    """Make a Command of a function `(context, arguments) -> reply`.

    It runs in one transaction with the record of its message, so a redelivery runs nothing twice.
    It must not call the network.
    """

    def make(function: Callable[[CommandContext, str], str]) -> Command:
        described = (inspect.getdoc(function) or "").split("\n")[0]
        return Command(name, usage, role, described, function, wants_health, aliases, words)

    return make


def beforehand(ahead: Callable[[Ahead], Prepared]) -> Callable[[Command], Command]:
    """Give a command a part that runs before its transaction opens, and so holds nobody up.

    Where its message is stored twice it may run twice.
    """
    return lambda plain: replace(plain, ahead=ahead)
