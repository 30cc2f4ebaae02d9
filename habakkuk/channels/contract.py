"""What a channel gives and gets (design: blueprint §8, §15).

A channel is a folder with a `manifest.py` (facts, no SDK) and an `adapter.py` with one subclass of
ChannelAdapter, loaded at first use. An adapter verifies, parses and sends; who may write, what
becomes of a message, when a send is repeated and what is stored is decided by its callers. It
knows nothing of Flask, jobs or the database, and one of its objects serves many threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from habakkuk.core.errors import ChannelError, ConfigurationError
from habakkuk.core.outside import OutsideHttp


class AccountSettings(BaseModel):
    """The base of what an account of a channel is set up with, beside what every account has."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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
class Manifest:
    """The facts of a channel.

    `limit` is the longest text of one message, in `unit`; `bursts`: people write one thought in
    several messages, so that those of a moment become one turn.
    """

    name: str
    title: str
    settings: type[AccountSettings]
    limit: int
    unit: Unit = Unit.CHARACTERS
    sends_from: Sender = Sender.WORKER
    certainty: Certainty = Certainty.NONE
    bursts: bool = True


@dataclass(frozen=True)
class RawRequest:
    """A webhook as it came; header names are in small letters."""

    method: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class InboundMessage:
    """One message as the channel understood it; every id is the platform's own, never a name."""

    id: str
    chat: str
    sender: str
    text: str
    thread: str = ""
    sender_name: str = ""


@dataclass(frozen=True)
class OutboundMessage:
    """One message to send. `key` is the same for every repeat of this very message.

    `reply_to` is the platform's id of what it answers; it is part `part` of `parts`, from 1.
    `approval` is the id of the question that it puts, for buttons.
    """

    key: str
    chat: str
    thread: str
    text: str
    kind: str
    reply_to: str | None = None
    turn: str | None = None
    part: int = 1
    parts: int = 1
    approval: str | None = None


@dataclass(frozen=True)
class Receipt:
    """What the platform said of a message that it took; `id` is its own for it."""

    id: str | None = None


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
    def parse(self, request: RawRequest) -> Sequence[InboundMessage]:
        """Return the messages in a verified request. Raises WebhookUnreadable."""

    @abstractmethod
    def send(self, message: OutboundMessage) -> Receipt:
        """Send one message. Raises NotSent and OutcomeUnknown, and nothing else."""

    # What a subclass may replace.

    def find(self, message: OutboundMessage) -> Receipt | None:
        """Ask the platform for a message that may have been sent; None when it was not.

        For certainty READ_BACK only. Raises NotSent when it cannot be asked now.
        """
        raise NotImplementedError(f"{self.manifest.name} cannot be asked for {message.key}")

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
