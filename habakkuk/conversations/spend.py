"""What may be spent on models: leave before every call, and waiting for it near a cap."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal

from habakkuk.conversations.budgets import caps_of, day_of, dollars, label, whose
from habakkuk.conversations.store import spend, spend_sums
from habakkuk.conversations.store.spend import Asked, Day, Standing
from habakkuk.conversations.store.usage import UsageLedger
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.ids import random_id
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database, DatabaseBusy, DatabaseCrowded, Work
from habakkuk.llm.contract import Admission, Endpoint, PriceUnknown, SpendCapReached
from habakkuk.llm.estimate import Reckoned, reckon
from habakkuk.llm.prices import Prices
from habakkuk.llm.types import LlmRequest, ModelRef, Usage

WARN_AT = Decimal("0.8")
_NOTHING = Decimal(0)
# A call that takes all the time it may has ended by then, and what it held is no more.
_GRACE_SECONDS = 60.0
_LOCAL_TIMEOUT = 600.0
_UNPRICED = (
    "it is not known what {model} costs, so it is not asked where a budget holds; an owner can set"
    " its price under `pricing:` in config.yaml"
)
# Many may wait at once, and each time one looks it takes the caps' locks.
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 1.0


def _draw(longest: float) -> float:
    return random.uniform(longest / 2, longest)  # noqa: S311 - a wait, no secret


class SpendCaps:
    """The budgets of config.yaml, kept (the port habakkuk.llm.contract.Budget). Thread-safe.

    What a call may cost at most is held until its cost is written, and it may write no more than is
    held, so that calls at once cannot pass a cap together. One alone may end a little over it: what
    it costs is known at its end.
    """

    def __init__(
        self,
        database: Database,
        config: Config,
        prices: Prices,
        ledger: UsageLedger,
        clock: Clock,
        endpoints: Mapping[str, Endpoint],
    ) -> None:
        """Take the parts of this process."""
        self._database = database
        self._config = config
        self._caps = caps_of(config)
        self._prices = prices
        self._ledger = ledger
        self._clock = clock
        self._endpoints = endpoints

    @property
    def any(self) -> bool:
        """Whether there is any cap; without one nothing here says a word to the database."""
        return bool(self._caps)

    def admit(self, model: ModelRef, request: LlmRequest, interrupt: Interrupt) -> Admission:
        """Let a call begin and hold what it may cost. Raises SpendCapReached, Interrupted.

        Raises PriceUnknown where a cap holds and nobody knows what the model costs.
        Where only what others hold is in the way it waits for them, without a connection.
        """
        if not self._caps or self._prices.is_free(model):
            return Admission()
        self._check_price(model, request)
        reckoned = reckon(model, request)
        asked = self._asked(model, request, reckoned)
        if asked.turn_id is not None:
            self._ledger.settle(asked.turn_id)
        until = self._clock.monotonic() + asked.seconds
        longest = _FIRST_WAIT
        while True:
            found = self._try(asked, reckoned.most.output)
            if isinstance(found, Admission):
                return found
            if self._clock.monotonic() > until:
                raise SpendCapReached(_crowded(found), retryable=True)
            interrupt.wait(_draw(longest))
            interrupt.check()
            longest = min(longest * 1.5, _LONGEST_WAIT)

    def release_of_turn(self, work: Work, turn_id: str) -> None:
        """Let go of what a killed run of a turn held; in the transaction in which it goes on."""
        if self._caps:
            spend.release_of_turn(work, turn_id)

    def remove_expired(self) -> int:
        """Settle what killed processes held and nobody took up; it is held no more as it is."""
        return spend.remove_expired(self._database)

    def settle(self) -> None:
        """Sum up what was spent, every few minutes; without it leave takes longer, no more."""
        if self._caps:
            spend_sums.settle(self._database)

    def _check_price(self, model: ModelRef, request: LlmRequest) -> None:
        """Refuse a model of unknown price where a cap holds: it would evade every one."""
        if self._config.budgets.unpriced == "allow" or self._prices.is_known(model):
            return
        labels = request.labels
        user_id, agent = labels.get("user") or None, labels.get("agent") or None
        if spend.any_for(self._database, self._caps, user_id, agent):
            raise PriceUnknown(_UNPRICED.format(model=model))

    def _try(self, asked: Asked, output: int) -> Admission | Standing | None:
        """Return leave, or what is in the way for now. Raises SpendCapReached.

        `output` are the tokens that the call could write for `asked.amount`.
        """
        day = day_of(self._config, self._clock.now())
        try:
            verdict = spend.admit(self._database, self._caps, day, asked, WARN_AT)
        except (DatabaseBusy, DatabaseCrowded):
            # So many want to begin at once that not all got their turn.
            return None
        if not verdict.caps:
            return Admission()
        if verdict.goes:
            notices = tuple(_warning(cap) for cap in verdict.warn)
            return Admission(asked.hold, notices, _paid(asked, verdict.held, output))
        reached = next((cap for cap in verdict.caps if cap.spent >= cap.cap), None)
        if reached is not None:
            raise SpendCapReached(_refusal(reached, day, self._config.timezone))
        return next(cap for cap in verdict.caps if cap.held)

    def _asked(self, model: ModelRef, request: LlmRequest, reckoned: Reckoned) -> Asked:
        labels, most = request.labels, reckoned.most
        endpoint = self._endpoints.get(model.provider)
        least = replace(most, output=reckoned.least_output)
        return Asked(
            hold=random_id("hold"),
            model=model,
            turn_id=labels.get("turn") or None,
            session_id=labels.get("session") or None,
            purpose=labels.get("purpose") or "answer",
            user_id=labels.get("user") or None,
            agent=labels.get("agent") or None,
            # What nobody knows the price of counts nothing, where that is allowed.
            amount=self._prices.cost(model, most) or _NOTHING,
            least=self._prices.cost(model, least) or _NOTHING,
            fixed=self._prices.cost(model, replace(most, output=0)) or _NOTHING,
            prompt=self._prices.cost(model, Usage(input=most.input)),
            seconds=(endpoint.timeout if endpoint else _LOCAL_TIMEOUT) + _GRACE_SECONDS,
        )


def _paid(asked: Asked, held: Decimal, output: int) -> int | None:
    """Return the tokens that may be written for what is held, None where they cost nothing."""
    if asked.amount <= asked.fixed:
        return None
    return int(output * (held - asked.fixed) / (asked.amount - asked.fixed))


def _warning(cap: Standing) -> str:
    share = int(cap.spent / cap.cap * 100)
    if cap.scope.startswith("user:"):
        return f"You have used {share} % of today's budget of {dollars(cap.cap)}."
    return f"{share} % of today's budget of {dollars(cap.cap)} for {whose(cap)} is used."


def _refusal(cap: Standing, day: Day, zone: str) -> str:
    own = cap.scope.startswith("user:")
    budget = "Your budget for today" if own else f"Today's budget for {whose(cap)}"
    return (
        f"{budget}, {dollars(cap.cap)}, is used up ({dollars(cap.spent)} spent). It renews at"
        f" {day.ends:%H:%M} on {day.ends:%Y-%m-%d} ({zone}); an owner can raise it for today:"
        f" /budget raise {label(cap)} AMOUNT"
    )


def _crowded(cap: Standing | None) -> str:
    if cap is None:
        return "Too many model calls want to begin at once; try again in a minute"
    return (
        f"Answers under way may use what is left of today's budget for {whose(cap)}"
        f" ({dollars(cap.cap - cap.spent)} of {dollars(cap.cap)}); try again in some minutes"
    )
