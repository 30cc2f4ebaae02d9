"""What a channel gives and gets (design: blueprint §8, §15).

A channel is a folder with a `manifest.py` (facts, no SDK) and an `adapter.py` with one subclass of
ChannelAdapter, loaded at first use, and a `poller.py` with one ChannelPoller (polling.py) where
somebody has to fetch or to listen. An adapter verifies, parses and sends; who may write, what
becomes of a message, when a send is repeated and what is stored is decided by its callers. It knows
nothing of Flask, jobs or the database, and one of its objects serves many threads.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from habakkuk.channels.messages import (
    Event,
    OfferedCommand,
    OutboundMessage,
    Press,
    RawRequest,
    Reaction,
    Receipt,
    RemoteFile,
    Reply,
)
from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.outside import OutsideHttp
from habakkuk.core.text import utf16_units


class AccountSettings(BaseModel):
    """The base of what an account of a channel is set up with, beside what every account has."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @property
    def polls(self) -> bool:
        """Whether the account's messages are fetched by a poller, not brought by the platform."""
        return False


class Unit(StrEnum):
    """What a platform counts the length of a message in."""

    CHARACTERS = "characters"
    UTF16 = "utf-16 units"
    BYTES = "bytes"


class Sender(StrEnum):
    """Who sends: any worker over HTTP, or the process that holds the account's connection."""

    WORKER = "worker"
    INTAKE = "intake"


class Certainty(StrEnum):
    """How a send whose outcome is unknown is made certain.

    KEY: the platform drops a repeated key. READ_BACK: it can be asked for what it got. NONE: a
    repeat may be seen twice.
    """

    KEY = "key"
    READ_BACK = "read-back"
    NONE = "none"


@dataclass(frozen=True)
class Allowance:
    """How many messages of one sender are read within so many seconds; `period` names these."""

    most: int
    seconds: int
    period: str


class Feature(StrEnum):
    """What a platform can do beside taking text.

    BUTTONS, FILES and POLLS: `send` takes messages that have them. TYPING, REACTIONS (`react`),
    DRAFTS (`draft`, `redraft`, `undraft`) and COMMANDS (`offer`): the adapter has these methods.
    """

    TYPING = "typing"
    BUTTONS = "buttons"
    FILES = "files"
    POLLS = "polls"
    REACTIONS = "reactions"
    DRAFTS = "drafts"
    COMMANDS = "commands"


@dataclass(frozen=True)
class Manifest:
    """The facts of a channel.

    `limit` is the longest text of one message, in `unit`; `bursts`: people write one thought in
    several messages, so that those of a moment become one turn. `pairs`: strangers are people, who
    are told how they get in; without, they are programs. `file_limit`: of a file sent, in bytes.
    `canonical` makes of an id, as a person may write it, the one that events have.
    """

    name: str
    title: str
    settings: type[AccountSettings]
    limit: int
    unit: Unit = Unit.CHARACTERS
    sends_from: Sender = Sender.WORKER
    certainty: Certainty = Certainty.NONE
    bursts: bool = True
    pairs: bool = True
    features: frozenset[Feature] = frozenset()
    file_limit: int = 0
    canonical: Callable[[str], str] = str


class WebhookRejected(ChannelError):
    """A request that the platform did not send, or not now. Answered with 401."""


class WebhookUnreadable(ChannelError):
    """A genuine request with a body that makes no sense. Answered with 400."""


class NotSent(ChannelError):
    """The platform did not take the message; it may later, when this is retryable."""


class OutcomeUnknown(ChannelError):
    """The request went out and no answer told what became of it."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        """Such a send is always settled later."""
        super().__init__(message, retryable=True, retry_after=retry_after)


class NotFetched(ChannelError):
    """A file could not be fetched; it may be later, when this is retryable."""


@dataclass(frozen=True)
class Account:
    """One account: its name in config.yaml, and the values of the secrets that it names."""

    name: str
    secrets: Mapping[str, str] = field(repr=False)

    def secret(self, name: str) -> str:
        """Return the value of a variable. Raises ConfigurationError when it is not set."""
        value = self.secrets.get(name)
        if not value:
            raise ConfigurationError(
                f"channels.{self.name}: the variable {name} is not set; put it into the"
                " environment or .env"
            )
        return value


@dataclass(frozen=True)
class Bounds:
    """What fetching a file may take: bytes, and time until `end` by the monotonic clock.

    It ends at once when it is interrupted.
    """

    limit: int
    interrupt: Interrupt = field(default_factory=Interrupt, repr=False)
    end: float = math.inf
    seconds: float = 60.0

    def left(self) -> float:
        """Return how many seconds the next request may take. Raises NotFetched when none."""
        left = min(self.seconds, self.end - time.monotonic())
        if left <= 0:
            raise NotFetched("the time for it was over")
        return left


@dataclass(frozen=True)
class Withheld:
    """What a platform does not give out, without a word of what it says.

    `what` names it, such as "mail 17 (2.1 kB)"; `since` in seconds since 1970. `advice` is what
    becomes of it, or what to do.
    """

    what: str
    since: float
    why: str
    advice: str


SettingsT = TypeVar("SettingsT", bound=AccountSettings)


class ChannelAdapter(ABC, Generic[SettingsT]):
    """Talks to one platform for one account."""

    manifest: ClassVar[Manifest]

    def __init__(self, account: Account, settings: SettingsT, http: OutsideHttp) -> None:
        """Take what the account needs. Raises ConfigurationError, as without its secret."""
        self.account = account
        self.settings = settings
        self.http = http

    # What a subclass implements.

    @abstractmethod
    def verify(self, request: RawRequest) -> None:
        """Prove that the platform sent this, just now. Raises WebhookRejected."""

    @abstractmethod
    def parse(self, request: RawRequest) -> Sequence[Event]:
        """Return what a verified request tells. Raises WebhookUnreadable."""

    @abstractmethod
    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message. Raises NotSent and OutcomeUnknown, and nothing else."""

    # What a subclass may replace.

    def reply(self, request: RawRequest) -> Reply | None:  # noqa: ARG002 - for those that look
        """Return what the platform wants to read once a verified request is stored.

        None where it does not look: it gets what became of each message, as JSON.
        """
        return None

    def find(self, message: OutboundMessage) -> Receipt | None:
        """Ask the platform for a message that may have been sent; None when it was not.

        For certainty READ_BACK only. Raises NotSent when it cannot be asked now.
        """
        raise NotImplementedError(f"{self.manifest.name} cannot be asked for {message.key}")

    def length(self, text: str) -> int:
        """Return how long the platform takes a message of this Markdown to be, as it is sent."""
        return length(text, self.manifest.unit)

    def typing(self, chat: str, thread: str) -> None:
        """Show that an answer is on its way, for some seconds. Raises NotSent."""
        raise NotImplementedError(f"{self.manifest.name} shows no typing")

    def settle(self, press: Press, said: str) -> None:
        """Take the buttons away that were pressed, and say what became of it. Raises NotSent."""
        raise NotImplementedError(f"{self.manifest.name} has no buttons")

    def decline(self, press: Press, said: str) -> None:
        """Say to who pressed why nothing follows; the buttons stay, for whom they are meant.

        Raises NotSent. Without a way to say it to them alone nothing is said.
        """

    def fetch(self, file: RemoteFile, bounds: Bounds) -> Iterator[bytes]:
        """Yield the bytes of a file that came, in pieces, while they come.

        Raises NotFetched, also for a file that is longer than its bounds allow, and Interrupted.
        """
        raise NotImplementedError(f"{self.manifest.name} has no files")

    def react(
        self, chat: str, message: str, reaction: Reaction | None, before: Reaction | None
    ) -> None:
        """Let one reaction stand at a message, or none, where `before` stood.

        What stands already and what is gone already is no error. Raises NotSent.
        """
        raise NotImplementedError(f"{self.manifest.name} has no reactions")

    def draft(self, chat: str, thread: str, reply_to: str | None, text: str) -> str:
        """Show a message of progress, silently; return its id. Raises NotSent."""
        raise NotImplementedError(f"{self.manifest.name} has no drafts")

    def redraft(self, chat: str, draft: str, text: str) -> None:
        """Let it say something else. Raises NotSent, with the wait that the platform asks for."""
        raise NotImplementedError(f"{self.manifest.name} has no drafts")

    def undraft(self, chat: str, draft: str) -> None:
        """Take it away; what is gone already is no error. Raises NotSent."""
        raise NotImplementedError(f"{self.manifest.name} has no drafts")

    def offer(self, commands: Sequence[OfferedCommand]) -> None:
        """Have the platform's own list show these commands and no others. Raises NotSent."""
        raise NotImplementedError(f"{self.manifest.name} has no list of commands")

    def paste(self, commands: Sequence[OfferedCommand]) -> str:  # noqa: ARG002 - for those that need it
        """Return what a person pastes at a platform that takes no list from a program."""
        return ""

    def connect(self, url: str) -> bool:  # noqa: ARG002 - for those that can be told
        """Have the platform bring messages to this address; False: a person has to tell it.

        Raises NotSent.
        """
        return False

    @property
    def file_limit(self) -> int:
        """The largest file in bytes that this account may send."""
        return self.manifest.file_limit

    @property
    def identity(self) -> str:
        """What tells this account from others at its platform, such as a digest of its token."""
        return self.account.name

    @property
    def certainty(self) -> Certainty:
        """How an unknown outcome is made certain for this account."""
        return self.manifest.certainty

    @property
    def limit(self) -> int:
        """The longest text of one message for this account, in the manifest's unit."""
        return self.manifest.limit

    @property
    def sends(self) -> bool:
        """Whether answers can be sent at all: without, nobody can be asked either."""
        return True

    @property
    def allowances(self) -> Sequence[Allowance]:
        """What one sender is allowed beside the account's messages a minute.

        For platforms where a program may answer as a person does: two of them come to an end.
        """
        return ()

    @property
    def concern(self) -> tuple[str, str] | None:
        """What whoever runs this should know of the account's settings, and what to do about it."""
        return None

    def withheld(self, place: Mapping[str, Any]) -> Sequence[Withheld]:  # noqa: ARG002 - for pollers
        """Return what is not read, as the stored place of the account's poller has it."""
        return ()

    def check(self) -> str:
        """Ask the platform who this account is, and say it in a few words. Raises ChannelError."""
        return self.manifest.title


def length(text: str, unit: Unit) -> int:
    """Return how long a text is in a unit."""
    if unit is Unit.BYTES:
        return len(text.encode())
    if unit is Unit.UTF16:
        return utf16_units(text)
    return len(text)
