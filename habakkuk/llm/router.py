"""Call models until one answers: the only place that retries a model call that failed.

A provider may ask its service once more without a part of the request that it refused: that is the
same call, within the same time and hold (habakkuk.llm.wire.exchange).

A failure is hidden only while nothing of the answer was shown. TextDelta and ToolCallStarted
count as shown. ThinkingDelta does not: reasoning is never part of the transcript that people
answer to, so a retry after it is safe, and a display may show the thinking of both attempts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from habakkuk.core.errors import LlmError
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.attempt import Attempt, Recorder
from habakkuk.llm.contract import (
    Admission,
    Budget,
    CallLog,
    ContextOverflow,
    Cooldowns,
    ModelMissing,
    Profile,
    Provider,
    RequestTooLarge,
    Screen,
    Screened,
)
from habakkuk.llm.policy import (
    MENDABLE,
    OF_ONE_KEY,
    NoCooldowns,
    RefusedFiles,
    RetryPolicy,
    Rota,
    draw,
    telling,
)
from habakkuk.llm.profiles.models import profile_for
from habakkuk.llm.selection import NO_MODEL
from habakkuk.llm.types import Finished, LlmEvent, LlmRequest, ModelRef, StopReason

_SHORT = "What is left of a budget lets an answer have {tokens:,} tokens now"
_LEFT_OUT = "{ref} could not take the files of this conversation, so they were left out: {why}"


class Providers(Protocol):
    """Where the router finds providers and the names of their keys; the registry is one."""

    def provider(self, name: str, key: int = 0) -> Provider:
        """Return the provider with the key at that place. Raises ConfigurationError."""
        ...

    def keys(self, name: str) -> Sequence[str]:
        """Return the names of a provider's keys; one, maybe empty, where there is no choice."""
        ...


@dataclass(frozen=True)
class Ports:
    """What the router shares with the rest; each may be missing, as in a process without Redis."""

    log: CallLog | None = None
    budget: Budget | None = None
    screen: Screen | None = None
    cooldowns: Cooldowns | None = None


@dataclass
class _Asked:
    """What is asked of one model, and what its user should know besides the answer."""

    ref: ModelRef
    profile: Profile
    request: LlmRequest
    interrupt: Interrupt
    notices: list[str] = field(default_factory=list)


class Router:
    """Retries, turns keys, falls back, and reports calls. Thread-safe.

    It keeps only which files a model would not take, so that they do not go there with every turn.
    """

    def __init__(
        self,
        providers: Providers,
        ports: Ports | None = None,
        *,
        policy: RetryPolicy | None = None,
        profiles: Callable[[ModelRef], Profile] = profile_for,
        draw: Callable[[float], float] = draw,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the ports. `draw` returns a wait between 0 and what it is given."""
        ports = ports or Ports()
        self._providers = providers
        self._recorder = Recorder(ports.log, now)
        self._budget = ports.budget
        self._screen = ports.screen
        self._policy = policy or RetryPolicy()
        self._rota = Rota(ports.cooldowns or NoCooldowns(), self._policy)
        self._profiles = profiles
        self._draw = draw
        self._refused = RefusedFiles()

    def stream(
        self, chain: Sequence[ModelRef], request: LlmRequest, interrupt: Interrupt
    ) -> Iterator[LlmEvent]:
        """Yield the events of the first model that answers, Finished last.

        Finished.failed names who failed before. Raises StreamCut when an answer broke off after
        something was shown, Interrupted, or the most telling LlmError, which names every model.
        """
        if not chain:
            raise ModelMissing(NO_MODEL)
        first, failures = chain[0], list[tuple[ModelRef, LlmError]]()
        order, resting = self._rota.models(chain, self._providers.keys)
        for ref in order:
            asked = self._asked(ref, request, interrupt)
            try:
                for event in self._ask(asked):
                    if isinstance(event, Finished):
                        self._rota.woke(ref.provider)
                        yield _told(event, [*failures, *_passed(chain, ref, resting)], asked)
                        return
                    yield event
            except MENDABLE as error:
                failures.append((ref, error))
                self._rota.tire(ref.provider, error)
            except ContextOverflow as error:
                # A fallback that takes less is no reason to sum the session up.
                if ref == first:
                    raise
                failures.append((ref, error))
        raise telling(failures)

    def _asked(self, ref: ModelRef, request: LlmRequest, interrupt: Interrupt) -> _Asked:
        """Fit the request to the model."""
        profile = self._profiles(ref)
        screened = Screened(request)
        if self._screen is not None:
            screened = self._screen.fit(request, ref, profile, interrupt)
            if self._refused.knows(ref, screened.request):
                screened = Screened(self._screen.without_files(request))
        return _Asked(ref, profile, screened.request, interrupt, list(screened.notices))

    def _ask(self, asked: _Asked) -> Iterator[LlmEvent]:
        """Yield a model's answer; once more without its files when it is too large with them."""
        try:
            yield from self._with_keys(asked)
        except RequestTooLarge as error:
            bare = self._without_files(asked.request)
            if bare is None:
                # There is nothing but text to make shorter.
                raise ContextOverflow(str(error)) from error
            self._refused.add(asked.ref, asked.request)
            asked.request = bare
            asked.notices.append(_LEFT_OUT.format(ref=asked.ref, why=error))
        else:
            return
        yield from self._with_keys(asked)

    def _without_files(self, request: LlmRequest) -> LlmRequest | None:
        """Return the request with notes in the place of its files, None when it has none."""
        if self._screen is None or not request.payloads:
            return None
        return self._screen.without_files(request)

    def _with_keys(self, asked: _Asked) -> Iterator[LlmEvent]:
        """Yield a model's answer, by the first of its provider's keys that serves."""
        provider = asked.ref.provider
        names = self._providers.keys(provider)
        places = self._rota.keys(provider, names)
        for place in places[:-1]:
            try:
                yield from self._attempts(asked, place, hopeless=OF_ONE_KEY)
            except OF_ONE_KEY as error:
                self._rota.tire_key(provider, names[place], error)
            else:
                return
        yield from self._attempts(asked, places[-1])

    def _attempts(
        self, asked: _Asked, place: int, hopeless: tuple[type[LlmError], ...] = ()
    ) -> Iterator[LlmEvent]:
        """Yield one model's answer, after as many attempts as the policy allows.

        What is `hopeless` is not tried again: there is another key.
        """
        number = 0
        while True:
            number += 1
            asked.interrupt.check()
            provider = self._providers.provider(asked.ref.provider, place)
            attempt = self._begin(asked)
            try:
                yield from self._try(asked, provider, attempt)
            except LlmError as error:
                attempt.failed(error)
                if attempt.shown:
                    raise attempt.cut(error) from error
                wait = self._policy.wait(error, number, self._draw)
                if wait is None or isinstance(error, hopeless):
                    raise
                asked.interrupt.wait(wait)
            else:
                finished = cast("Finished", attempt.finished)
                attempt.answered(finished)
                asked.notices += _bounds(asked, attempt, finished)
                yield finished
                return
            finally:
                attempt.stopped()

    def _begin(self, asked: _Asked) -> Attempt:
        """Ask for leave to spend, and begin. Raises SpendCapReached."""
        leave, request = Admission(), asked.request
        if self._budget is not None:
            leave = self._budget.admit(asked.ref, request, asked.interrupt)
            asked.notices += [text for text in leave.notices if text not in asked.notices]
        if request.max_tokens is None:
            # Only this attempt is bound: the next one asks anew.
            request = replace(request, max_tokens=leave.max_tokens)
        return Attempt(asked.ref, request, self._recorder, leave.hold)

    def _try(self, asked: _Asked, provider: Provider, attempt: Attempt) -> Iterator[LlmEvent]:
        events = provider.stream(asked.ref.model, attempt.request, asked.profile, asked.interrupt)
        with closing(cast("_Closable", events)):
            yield from attempt.watch(events)


def _bounds(asked: _Asked, attempt: Attempt, finished: Finished) -> list[str]:
    """Return that the budget cut an answer, when it did."""
    tokens = attempt.request.max_tokens
    if finished.stop is not StopReason.LENGTH or tokens == asked.request.max_tokens:
        return []
    return [_SHORT.format(tokens=tokens)]


def _passed(
    chain: Sequence[ModelRef], answered: ModelRef, resting: Mapping[ModelRef, float]
) -> list[tuple[ModelRef, str]]:
    """Return who would have been asked before the one that answered, and rests."""
    before = chain[: chain.index(answered)]
    return [
        (ref, f"rests for {resting[ref]:.0f} s after a failure") for ref in before if ref in resting
    ]


def _told(
    finished: Finished, failures: Sequence[tuple[ModelRef, object]], asked: _Asked
) -> Finished:
    """Return the answer with who failed before it, and what its user should know."""
    told = {
        ref: f"{ref} {why}; {finished.model} answered"
        if isinstance(why, str)
        else f"{ref} failed ({why}); {finished.model} answered"
        for ref, why in failures
    }
    return replace(
        finished, failed=tuple(told.values()), notices=(*asked.notices, *finished.notices)
    )


class _Closable(Protocol):
    def close(self) -> None: ...
