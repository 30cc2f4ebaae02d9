"""The caps on spending: how they stand today, and raising one for the rest of the day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from habakkuk.conversations.store import spend
from habakkuk.conversations.store.spend import EVERYBODY, Caps, Day, Standing
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import Invalid, NotFound
from habakkuk.db.engine import Database, Work

_MOST = Decimal(100_000)


def caps_of(config: Config) -> Caps:
    """Return the caps of a config."""
    budgets = config.budgets
    return Caps(budgets.day, budgets.users, budgets.agents)


def day_of(config: Config, now: datetime) -> Day:
    """Return the day of the config's timezone that holds `now`."""
    zone = ZoneInfo(config.timezone)
    today = now.astimezone(zone).date()
    begins = datetime.combine(today, time(), zone)
    return Day(today, begins, datetime.combine(today + timedelta(days=1), time(), zone))


def dollars(amount: Decimal) -> str:
    """Return an amount as people write it; a small one with as many digits as it needs."""
    if amount and abs(amount) < Decimal("0.01"):
        return f"${amount.quantize(Decimal('0.0001')):f}"
    return f"${amount.quantize(Decimal('0.01')):,f}"


def label(cap: Standing) -> str:
    """Return a cap as a person names it: day, user:alice, agent:habakkuk."""
    return cap.scope if cap.scope == EVERYBODY else f"{cap.scope.partition(':')[0]}:{cap.name}"


def whose(cap: Standing) -> str:
    """Return whose a cap is, in words."""
    if cap.scope == EVERYBODY:
        return "this server"
    return f"the agent {cap.name}" if cap.scope.startswith("agent:") else cap.name


def heading(cap: Standing) -> str:
    """Return whose a cap is, as it stands in a list."""
    if cap.scope == EVERYBODY:
        return "This server"
    return f"Agent {cap.name}" if cap.scope.startswith("agent:") else cap.name


def standings(work: Work, config: Config, now: datetime) -> Sequence[Standing]:
    """Return how every cap stands today; nothing without any."""
    caps = caps_of(config)
    return spend.standings(work, caps, day_of(config, now)) if caps else ()


def raise_cap(work: Work, config: Config, now: datetime, written: str, amount: Decimal) -> Standing:
    """Add to a cap for the rest of the day and return how it stands.

    `written` is day, user:NAME or agent:NAME. Raises NotFound for a cap that is not there and
    Invalid for an amount that is none.
    """
    if not (amount.is_finite() and 0 < amount <= _MOST):
        raise Invalid(f"a budget is raised by more than 0 and at most {_MOST} dollars")
    caps = standings(work, config, now)
    cap = next((cap for cap in caps if label(cap) == written), None)
    if cap is None:
        known = ", ".join(map(label, caps))
        advice = f"there are {known}" if known else "set some under `budgets:` in config.yaml"
        raise NotFound(f"there is no budget {written!r}; {advice}")
    spend.raise_cap(work, cap.scope, day_of(config, now), amount)
    return next(one for one in standings(work, config, now) if one.scope == cap.scope)


class Budgets:
    """The caps of one process's config, for whoever has no transaction yet."""

    def __init__(self, database: Database, config: Config, clock: Clock) -> None:
        """Use the pool of this process."""
        self._database = database
        self._config = config
        self._clock = clock

    @property
    def renew(self) -> datetime:
        """When today's budgets begin again."""
        return day_of(self._config, self._clock.now()).ends

    def standings(self) -> Sequence[Standing]:
        """Return how every cap stands today; nothing without any."""
        with self._database.transaction() as work:
            return standings(work, self._config, self._clock.now())

    def raise_by(self, written: str, amount: Decimal) -> Standing:
        """Add to a cap for the rest of the day. Raises NotFound and Invalid."""
        with self._database.transaction() as work:
            return raise_cap(work, self._config, self._clock.now(), written, amount)
