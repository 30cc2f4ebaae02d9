"""What a provider adapter is, what it may raise, and the ports it gets.

LlmError
├── RateLimited        429; another key or a later time helps
├── Overloaded         5xx, 529, an overload inside a 200; a later time helps
├── NetworkFailed      no connection, a timeout, a stream cut before its end
├── AuthFailed         the key is wrong or missing; another key or model helps
├── BillingFailed      no credit; another provider helps
├── ContextOverflow    the request is longer than the model takes; compaction helps
├── RequestTooLarge    more bytes than the service takes, or files it cannot read; fewer help
├── Refused            the provider's policy; another model may help
├── ModelMissing       no such model there; another model helps
├── PriceUnknown       a cap of ours holds, and nobody knows what it costs; another model helps
├── BadRequest         our request is wrong; nothing helps but a change
├── StreamCut          the answer broke off after text was shown; holds what came
└── SpendCapReached    a cap of ours; no model is asked at all
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.types import Block, LlmEvent, LlmRequest, ModelRef, Usage


class RateLimited(LlmError):
    """Too many requests for this key."""


class Overloaded(LlmError):
    """The service has no capacity or failed inside."""


class NetworkFailed(LlmError):
    """The service was not reached or the line broke before an answer was complete.

    `usage` is what the provider had counted by then, None when it had said nothing.
    """

    usage: Usage | None = None


class AuthFailed(LlmError):
    """The key is missing, wrong or may not do this."""


class BillingFailed(LlmError):
    """The account has no credit."""


class ContextOverflow(LlmError):
    """The request is longer than the model's window."""


class RequestTooLarge(LlmError):
    """The request has more bytes than the service takes, or a file that it cannot read."""


class Refused(LlmError):
    """The provider's policy refused the request."""


class ModelMissing(LlmError):
    """The provider does not offer the model."""


class PriceUnknown(LlmError):
    """A cap holds, which a model without a known price would evade."""


class BadRequest(LlmError):
    """The provider could not accept the request as it was sent.

    `param` is the field that it named, as it wrote it; None when it named none.
    """

    param: str | None = None


class StreamCut(LlmError):
    """The answer broke off after something was shown. `blocks` is what came, marked partial."""

    def __init__(self, message: str, blocks: tuple[Block, ...]) -> None:
        """Keep the partial blocks. Never retried: what was shown stays."""
        super().__init__(message, retryable=False)
        self.blocks = blocks


class SpendCapReached(LlmError):
    """What may be spent is spent; an owner can raise the cap."""


@dataclass(frozen=True)
class Dialect:
    """What a service wants otherwise than the others of its wire format.

    `max_tokens_field` None leaves the name to the model's profile. `call_id_length` is set where
    a service takes only short ids made of letters and digits. `documents`: its Chat Completions
    take PDFs where the model reads them, which few do. `images` is how many a request may hold.
    `own_rules`: it is OpenAI's own, which holds its models to `Profile.chat_tools_unthinking` and
    takes a limit of searches that others do not know.
    """

    max_tokens_field: str | None = None
    stream_usage: bool = True
    cache_key: bool = False
    call_id_length: int | None = None
    documents: bool = False
    images: int | None = None
    own_rules: bool = False


@dataclass(frozen=True)
class Endpoint:
    """Where and as whom a provider is called.

    `api_key` is empty for keyless servers; `api_key_env` is the variable it came from, for
    messages; `spare_keys` are variables and their keys to turn to when that one is refused or
    limited. In seconds: `timeout` bounds a whole call, `first_byte_timeout` the wait for the
    answer to begin, `stall_timeout` the time without a single byte, `ping_timeout` the time in
    which only signs of life come.
    """

    name: str
    base_url: str
    api_key: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout: float = 600.0
    first_byte_timeout: float = 300.0
    stall_timeout: float = 120.0
    ping_timeout: float = 300.0
    api_key_env: str | None = None
    spare_keys: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    type: str = "openai"
    dialect: Dialect = field(default_factory=Dialect)

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables of its keys, the first choice first; one without a name when keyless."""
        return (self.api_key_env or "", *(variable for variable, _ in self.spare_keys))

    def with_key(self, place: int) -> Endpoint:
        """Return the endpoint as the owner of one of its keys alone."""
        if place == 0:
            return replace(self, spare_keys=())
        variable, value = self.spare_keys[place - 1]
        return replace(self, api_key=value, api_key_env=variable, spare_keys=())

    @property
    def missing_key(self) -> str | None:
        """The variable of the key that is needed and not set; None when nothing is missing."""
        return self.api_key_env if not self.api_key else None

    @property
    def address(self) -> str:
        """The base URL for messages, without a password or a query that may stand in it."""
        scheme, slashes, rest = self.base_url.partition("://")
        return scheme + slashes + rest.partition("?")[0].rpartition("@")[2]


@dataclass(frozen=True)
class Profile:
    """Facts about a model that shape its requests.

    `simple_prompt` replaces the system prompt for models too small to follow a long one;
    without `notes` they get none of the notes, which they would repeat.
    `default_max_tokens` is asked for where nobody named a number and one is needed: by the format,
    or by a budget, which must know what a call may cost. It is at most what the model takes.
    `thinking` is the kind that the model is asked for, None for what it does by itself;
    `efforts` are the levels that it takes, least first (see `fitting_effort`), none when it takes
    none. `vision` and `documents`: it can be sent images and PDFs. `hosted_web`: its provider
    searches and fetches for it. `chat_tools_unthinking`: in its maker's own Chat Completions it
    takes functions only where it is told not to think. `known` is false for a model that nothing is
    known of; then everything here is the careful choice.
    """

    tools: bool = True
    simple_prompt: str | None = None
    notes: bool = True
    temperature: float | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    max_tokens_field: str = "max_completion_tokens"
    default_max_tokens: int = 8192
    thinking: str | None = None
    efforts: tuple[str, ...] = ()
    vision: bool = False
    documents: bool = False
    hosted_web: bool = False
    chat_tools_unthinking: bool = False
    known: bool = True


class Provider(Protocol):
    """One adapter for one wire format, bound to one endpoint. Thread-safe."""

    def stream(
        self, model: str, request: LlmRequest, profile: Profile, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield events as they arrive, Finished last.

        Raises an LlmError of the classes above, and Interrupted when `interrupt` trips: then the
        socket is shut down at once, so that the provider stops too. It does not retry a failure;
        a service that refuses a part of the request is asked again without it, in the same time.
        """
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True)
class CallRecord:
    """One call of one model, as it went.

    `outcome` is "answered", "cut" (shown in part), "stopped" (by us) or the failure as a word, such
    as "rate_limited". `usage` is None when the provider said nothing of it; `seconds` from the
    request to the end, `first_token` to the first piece of anything, None when none came. `hold` is
    what Budget.admit gave. `last` is false when the router goes on to call again.
    """

    model: ModelRef
    labels: Mapping[str, str]
    outcome: str
    usage: Usage | None = None
    seconds: float = 0.0
    first_token: float | None = None
    hold: str | None = None
    last: bool = True


class CallLog(Protocol):
    """Told of every call, so that nothing is spent unseen."""

    def record(self, call: CallRecord) -> None:
        """Keep it, and give up what it held of a budget."""
        ...


@dataclass(frozen=True)
class Admission:
    """Leave to call a model. `hold` marks what it may cost until the call is recorded.

    `notices` is what its user should know, such as that most of a cap is used. `max_tokens` is the
    output that is paid for: a request without a limit of its own must not go without this one.
    """

    hold: str | None = None
    notices: tuple[str, ...] = ()
    max_tokens: int | None = None


class Budget(Protocol):
    """What may be spent; asked before every call of any kind."""

    def admit(self, model: ModelRef, request: LlmRequest, interrupt: Interrupt) -> Admission:
        """Let a call begin. Raises SpendCapReached, which says whose cap and what to do.

        Raises PriceUnknown for a model that may not be asked under a cap.
        Near a cap it waits for calls under way, whose cost decides; raises Interrupted then.
        """
        ...


class Screen(Protocol):
    """Fits a request's files to what a model and its provider take, before it is sent."""

    def fit(
        self, request: LlmRequest, model: ModelRef, profile: Profile, interrupt: Interrupt
    ) -> Screened:
        """Return the request with its payloads. Never raises for a bad file: it becomes a note.

        Raises Interrupted.
        """
        ...

    def without_files(self, request: LlmRequest) -> LlmRequest:
        """Return the request with a note in the place of every file, after a RequestTooLarge."""
        ...


@dataclass(frozen=True)
class Screened:
    """A request that can be sent, and what its user should know of what was left out."""

    request: LlmRequest
    notices: tuple[str, ...] = ()


class Cooldowns(Protocol):
    """Who rests, shared between processes where Redis is there: providers, and single keys."""

    def resting(self, who: str) -> float:
        """Return for how many seconds yet `who` should not be called; 0 when it may."""
        ...

    def rest(self, who: str, seconds: float) -> None:
        """Let `who` rest."""
        ...

    def wake(self, who: str) -> None:
        """End a rest: `who` has answered."""
        ...
