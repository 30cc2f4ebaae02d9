"""What the router holds to: how often it asks, how long it waits, who is asked next."""

from __future__ import annotations

import random
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from habakkuk.core.errors import LlmError
from habakkuk.llm.contract import (
    AuthFailed,
    BillingFailed,
    ContextOverflow,
    Cooldowns,
    ModelMissing,
    NetworkFailed,
    Overloaded,
    PriceUnknown,
    RateLimited,
    Refused,
    RequestTooLarge,
)
from habakkuk.llm.types import LlmRequest, ModelRef

TRANSIENT = (RateLimited, Overloaded, NetworkFailed)
# What another key of the same provider can mend.
OF_ONE_KEY = (RateLimited, AuthFailed, BillingFailed)
# What another model can mend, the most telling first; what is not here is raised at once.
MENDABLE = (
    AuthFailed,
    BillingFailed,
    ModelMissing,
    PriceUnknown,
    Refused,
    RequestTooLarge,
    RateLimited,
    Overloaded,
    NetworkFailed,
)
_Draw = Callable[[float], float]
_MOST_REFUSED = 1_024


def draw(longest: float) -> float:
    """Return a wait between 0 and `longest` seconds, so that many turns do not come back as one."""
    return random.uniform(0.0, longest)  # noqa: S311 - a wait, no secret


@dataclass(frozen=True)
class RetryPolicy:
    """How often one model is asked, and how long between, in seconds.

    The wait is drawn evenly from 0 to `base` doubled for each failure, at most `cap`. A provider's
    own retry_after is waited for when it is at most `patience`; a longer one ends the attempts at
    that model, which then rests. A provider that failed without naming a time rests for `rest`, a
    key that was refused for `refused_key`.
    """

    attempts: int = 3
    base: float = 1.0
    cap: float = 20.0
    patience: float = 20.0
    rest: float = 30.0
    refused_key: float = 600.0

    def wait(self, error: LlmError, number: int, draw: _Draw) -> float | None:
        """Return how long to wait after failure `number`, None when the model is given up."""
        if not isinstance(error, TRANSIENT) or number >= self.attempts:
            return None
        drawn = draw(min(self.cap, self.base * 2 ** (number - 1)))
        if error.retry_after is None:
            return drawn
        return error.retry_after + drawn if error.retry_after <= self.patience else None

    def rest_of_key(self, error: LlmError) -> float:
        """Return how long a key rests after a failure of its own."""
        refused = isinstance(error, AuthFailed | BillingFailed)
        return self.refused_key if refused else error.retry_after or self.rest


class NoCooldowns:
    """Nobody rests: for processes without Redis, and for tests."""

    def resting(self, who: str) -> float:  # noqa: ARG002 - the port's signature
        """Return 0: all may be called."""
        return 0.0

    def rest(self, who: str, seconds: float) -> None:
        """Forget it."""

    def wake(self, who: str) -> None:
        """Do nothing: nobody rests."""


class RefusedFiles:
    """Which files of which sessions a model would not take. Thread-safe, and bounded."""

    def __init__(self) -> None:
        """Know of none."""
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[ModelRef, str], frozenset[str]] = OrderedDict()

    def add(self, ref: ModelRef, request: LlmRequest) -> None:
        """Remember the files of a request that was refused with them."""
        with self._lock:
            self._known[ref, request.cache_key or ""] = frozenset(request.payloads)
            while len(self._known) > _MOST_REFUSED:
                self._known.popitem(last=False)

    def knows(self, ref: ModelRef, request: LlmRequest) -> bool:
        """Whether every file of a request was refused before; a new one is tried."""
        with self._lock:
            refused = self._known.get((ref, request.cache_key or ""), frozenset())
        return bool(request.payloads) and refused.issuperset(request.payloads)


class Rota:
    """Who is asked in which order: those that rest come last, which is better than not at all."""

    def __init__(self, cooldowns: Cooldowns, policy: RetryPolicy) -> None:
        """Ask `cooldowns`; nothing is asked where there is no choice."""
        self._cooldowns = cooldowns
        self._policy = policy

    def models(
        self, chain: Sequence[ModelRef], keys: Callable[[str], Sequence[str]]
    ) -> tuple[list[ModelRef], dict[ModelRef, float]]:
        """Return the chain in the order in which it is asked, and who rests for how long."""
        if len(chain) == 1:
            return list(chain), {}
        names = {ref.provider for ref in chain}
        left = {name: self._rests(name, keys(name)) for name in names}
        resting = {ref: left[ref.provider] for ref in chain if left[ref.provider] > 0}
        return sorted(chain, key=lambda ref: ref in resting), resting

    def woke(self, provider: str) -> None:
        """Note that a provider has answered."""
        self._cooldowns.wake(provider)

    def keys(self, provider: str, keys: Sequence[str]) -> list[int]:
        """Return the places of a provider's keys in the order in which they are tried."""
        places = list(range(len(keys)))
        if len(places) == 1:
            return places
        resting = [self._cooldowns.resting(_who(provider, key)) > 0 for key in keys]
        return sorted(places, key=lambda place: resting[place])

    def tire_key(self, provider: str, key: str, error: LlmError) -> None:
        """Let a key rest that another one is tried for."""
        self._cooldowns.rest(_who(provider, key), self._policy.rest_of_key(error))

    def tire(self, provider: str, error: LlmError) -> None:
        """Let a provider rest that was given up, where a later time helps."""
        if isinstance(error, TRANSIENT):
            self._cooldowns.rest(provider, error.retry_after or self._policy.rest)

    def _rests(self, provider: str, keys: Sequence[str]) -> float:
        left = self._cooldowns.resting(provider)
        if left <= 0 and len(keys) > 1:
            left = min(self._cooldowns.resting(_who(provider, key)) for key in keys)
        return left


def _who(provider: str, key: str) -> str:
    # By the variable's name: a key is a secret, and its place changes with the configuration.
    return f"{provider}:{key}"


def telling(failures: Sequence[tuple[ModelRef, LlmError]]) -> LlmError:
    """Return one error for all: of the class that says most, retryable when any of them is."""
    errors = [error for _, error in failures]
    kinds = (*MENDABLE, ContextOverflow)
    found = next(error for kind in kinds for error in errors if isinstance(error, kind))
    if len(errors) == 1:
        return found
    waits = [error.retry_after for error in errors if error.retry_after is not None]
    return type(found)(
        "no model answered. " + " / ".join(f"{ref}: {error}" for ref, error in failures),
        retryable=any(error.retryable for error in errors),
        retry_after=min(waits, default=None),
    )
