"""Call models until one answers: the only place that retries a model call.

A failure is hidden only while nothing of the answer was shown. TextDelta and ToolCallStarted
count as shown. ThinkingDelta does not: reasoning is never part of the transcript that people
answer to, so a retry after it is safe, and a display may show the thinking of both attempts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol, cast

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import (
    AuthFailed,
    BillingFailed,
    CallLog,
    CallRecord,
    Cooldowns,
    ModelMissing,
    NetworkFailed,
    Overloaded,
    Profile,
    Provider,
    RateLimited,
    Refused,
    StreamCut,
)
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.selection import NO_MODEL
from habakkuk.llm.types import (
    Finished,
    LlmEvent,
    LlmRequest,
    ModelRef,
    Text,
    TextDelta,
    ToolCallStarted,
)

_TRANSIENT = (RateLimited, Overloaded, NetworkFailed)
# What another model can mend, the most telling first; what is not here is raised at once.
_MENDABLE = (
    AuthFailed,
    BillingFailed,
    ModelMissing,
    Refused,
    RateLimited,
    Overloaded,
    NetworkFailed,
)


class Providers(Protocol):
    """Where the router finds a provider by name; the registry is one."""

    def provider(self, name: str) -> Provider:
        """Return the provider. Raises ConfigurationError when there is none."""
        ...


@dataclass(frozen=True)
class RetryPolicy:
    """How often one model is asked, and how long between, in seconds.

    The wait is drawn evenly from 0 to `base` doubled for each failure, at most `cap`, so that many
    turns do not come back together. A provider's own retry_after is waited for when it is at most
    `patience`; a longer one ends the attempts at that model, which then rests.
    """

    attempts: int = 3
    base: float = 1.0
    cap: float = 20.0
    patience: float = 60.0
    rest: float = 30.0


class NoCooldowns:
    """Nobody rests: for processes without Redis, and for tests."""

    def resting(self, provider: str) -> float:  # noqa: ARG002 - the port's signature
        """Return 0: every provider may be called."""
        return 0.0

    def rest(self, provider: str, seconds: float) -> None:
        """Forget it."""


def _draw(longest: float) -> float:
    return random.uniform(0.0, longest)  # noqa: S311 - a wait, no secret


class _Attempt:
    """One call of one model: passes events on and keeps what was shown."""

    def __init__(self) -> None:
        self.shown = False
        self._text: list[str] = []
        self.finished: Finished | None = None

    def watch(self, events: Iterator[LlmEvent], ref: ModelRef) -> Iterator[LlmEvent]:
        """Yield everything but Finished, which is kept."""
        for event in events:
            if isinstance(event, Finished):
                self.finished = event
                return
            self.shown = self.shown or isinstance(event, TextDelta | ToolCallStarted)
            if isinstance(event, TextDelta):
                self._text.append(event.text)
            yield event
        raise NetworkFailed(f"{ref}: the stream ended before the answer did", retryable=True)

    def cut(self, failure: LlmError) -> StreamCut:
        """Return the error that carries what was shown."""
        text = "".join(self._text)
        blocks = (Text(text=text, partial=True),) if text.strip() else ()
        return StreamCut(f"the answer broke off: {failure}", blocks)


class Router:
    """Retries, falls back, and reports usage. Thread-safe; it keeps nothing between calls."""

    def __init__(
        self,
        providers: Providers,
        *,
        log: CallLog | None = None,
        cooldowns: Cooldowns | None = None,
        policy: RetryPolicy | None = None,
        profiles: Callable[[ModelRef], Profile] = profile_for,
        draw: Callable[[float], float] = _draw,
    ) -> None:
        """Take the ports. `draw` returns a wait between 0 and what it is given."""
        self._providers = providers
        self._log = log
        self._cooldowns = cooldowns or NoCooldowns()
        self._policy = policy or RetryPolicy()
        self._profiles = profiles
        self._draw = draw

    def stream(
        self, chain: Sequence[ModelRef], request: LlmRequest, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield the events of the first model that answers, Finished last.

        Finished.notices names who failed before. Raises StreamCut when an answer broke off after
        something was shown, Interrupted, or the most telling LlmError, which names every model.
        """
        if not chain:
            raise ModelMissing(NO_MODEL)
        failures: list[tuple[ModelRef, LlmError]] = []
        for ref in self._order(chain):
            try:
                yield from self._ask(ref, request, interrupt, failures)
            except _MENDABLE as error:
                failures.append((ref, error))
                self._maybe_rest(ref, error)
            else:
                return
        raise _telling(failures)

    def _order(self, chain: Sequence[ModelRef]) -> list[ModelRef]:
        """Return the chain with resting providers last: better than none at all."""
        if len(chain) == 1:
            return list(chain)
        resting = {ref: self._cooldowns.resting(ref.provider) > 0 for ref in chain}
        return sorted(chain, key=lambda ref: resting[ref])

    def _ask(
        self,
        ref: ModelRef,
        request: LlmRequest,
        interrupt: Interrupt,
        failures: Sequence[tuple[ModelRef, LlmError]],
    ) -> Iterator[LlmEvent]:
        """Yield one model's answer, after as many attempts as the policy allows."""
        for number in range(1, self._policy.attempts + 1):
            interrupt.check()
            attempt = _Attempt()
            try:
                yield from self._try(ref, request, interrupt, attempt)
            except LlmError as error:
                self._count_failed(ref, error, request)
                if attempt.shown:
                    raise attempt.cut(error) from error
                wait = self._wait(error, number)
                if wait is None:
                    raise
                interrupt.wait(wait)
            else:
                yield self._end(cast("Finished", attempt.finished), request, failures)
                return

    def _try(
        self, ref: ModelRef, request: LlmRequest, interrupt: Interrupt, attempt: _Attempt
    ) -> Iterator[LlmEvent]:
        provider = self._providers.provider(ref.provider)
        events = provider.stream(ref.model, request, self._profiles(ref), interrupt)
        with closing(cast("_Closable", events)):
            yield from attempt.watch(events, ref)

    def _wait(self, error: LlmError, number: int) -> float | None:
        """Return how long to wait before the next attempt, None when there is none."""
        if not isinstance(error, _TRANSIENT) or number >= self._policy.attempts:
            return None
        drawn = self._draw(min(self._policy.cap, self._policy.base * 2 ** (number - 1)))
        if error.retry_after is None:
            return drawn
        return error.retry_after + drawn if error.retry_after <= self._policy.patience else None

    def _end(
        self,
        finished: Finished,
        request: LlmRequest,
        failures: Sequence[tuple[ModelRef, LlmError]],
    ) -> Finished:
        if self._log is not None:
            self._log.record(CallRecord(finished.model, request.labels, "answered", finished.usage))
        told = tuple(
            f"{ref} failed ({error}); {finished.model} answered" for ref, error in failures
        )
        return replace(finished, notices=(*told, *finished.notices))

    def _count_failed(self, ref: ModelRef, error: LlmError, request: LlmRequest) -> None:
        """Report what a broken call had used, where the provider said it."""
        used = error.usage if isinstance(error, NetworkFailed) else None
        if used is not None and self._log is not None:
            self._log.record(CallRecord(ref, request.labels, "failed", used, last=False))

    def _maybe_rest(self, ref: ModelRef, error: LlmError) -> None:
        if isinstance(error, _TRANSIENT):
            self._cooldowns.rest(ref.provider, error.retry_after or self._policy.rest)


class _Closable(Protocol):
    def close(self) -> None: ...


def _telling(failures: Sequence[tuple[ModelRef, LlmError]]) -> LlmError:
    """Return one error for all: of the class that says most, retryable when any of them is."""
    errors = [error for _, error in failures]
    telling = next(error for kind in _MENDABLE for error in errors if isinstance(error, kind))
    if len(errors) == 1:
        return telling
    waits = [error.retry_after for error in errors if error.retry_after is not None]
    return type(telling)(
        "no model answered. " + " / ".join(f"{ref}: {error}" for ref, error in failures),
        retryable=any(error.retryable for error in errors),
        retry_after=min(waits, default=None),
    )
