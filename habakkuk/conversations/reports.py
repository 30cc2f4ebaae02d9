"""What models used and cost: by day, model, agent and person, and whether their caches still help.

Owners see everything, others what they used themselves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from habakkuk.conversations.budgets import day_of, dollars
from habakkuk.conversations.service import Viewer
from habakkuk.conversations.store import reports
from habakkuk.conversations.store.reports import CacheUse, Line, Spent, Window
from habakkuk.core.clock import Clock
from habakkuk.core.config.schema import Config
from habakkuk.core.errors import Invalid
from habakkuk.db.engine import Database, Work
from habakkuk.llm.types import Usage

WEEK = timedelta(days=7)
UNKNOWN = "unknown price"
_SPAN = re.compile(r"(\d{1,4})([hd])")
_LONGEST = timedelta(days=366)
# A fall is told where a cache has helped, and where enough was read for a share to mean something.
_TELLING_TOKENS = 20_000
_TELLING_SHARE = 0.1
_NOTHING = Spent(0, 0, Usage(), Decimal(0), 0)


@dataclass(frozen=True)
class Item:
    """One line: a day as its date, a model as provider/model, an agent's or a person's name.

    `name` is empty for what belongs to no agent or no person.
    """

    name: str
    spent: Spent


@dataclass(frozen=True)
class Fall:
    """A model that today reads less than half as much from its cache as in the week before.

    Shares of what it reads, from 0 to 1.
    """

    model: str
    share: float
    before: float


@dataclass(frozen=True)
class Report:
    """What was used from `since` until `until`, by day (newest first), model, agent and person."""

    since: datetime
    until: datetime
    total: Spent
    days: Sequence[Item]
    models: Sequence[Item]
    agents: Sequence[Item]
    users: Sequence[Item]
    falls: Sequence[Fall]

    def by(self, kind: str) -> Sequence[Item]:
        """Return the lines by day, model, agent or user."""
        return {
            "day": self.days,
            "model": self.models,
            "agent": self.agents,
            "user": self.users,
        }[kind]


def span_of(written: str) -> timedelta:
    """Return the time that `7d` or `12h` means. Raises Invalid for anything else."""
    match = _SPAN.fullmatch(written.strip())
    unit = {"h": "hours", "d": "days"}
    span = timedelta(**{unit[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < span <= _LONGEST:
        raise Invalid(f"{written!r} is no time such as 12h or 7d, of at most {_LONGEST.days} days")
    return span


def hit_share(usage: Usage) -> float | None:
    """Return which part of what was read came from a cache, from 0 to 1; None when nothing was."""
    return usage.cache_read / usage.input if usage.input else None


def cost_words(spent: Spent) -> str:
    """Return what calls cost, for people: what has no known price is said, and never zero."""
    if not spent.unpriced:
        return dollars(spent.cost or Decimal(0))
    calls = f"{spent.unpriced:,} call{'' if spent.unpriced == 1 else 's'}"
    if spent.cost is None:
        return UNKNOWN
    return f"{dollars(spent.cost)} and {calls} of {UNKNOWN}"


def today(work: Work, config: Config, now: datetime, user_id: str | None) -> Spent:
    """Return what a person, or with None everybody, has used today."""
    day = day_of(config, now)
    return reports.within(work, Window(day.begins, day.ends, user_id))


class UsageReports:
    """The reports of one process's database."""

    def __init__(self, database: Database, config: Config, clock: Clock) -> None:
        """Use the pool of this process; `config` has the timezone whose days are counted."""
        self._database = database
        self._config = config
        self._clock = clock

    def report(self, viewer: Viewer, span: timedelta = WEEK) -> Report:
        """Return what was used in the last so many days or hours; whole days include today."""
        now = self._clock.now()
        days = _days(self._config, now, span)
        whose = None if viewer.sees(None) else viewer.user_id
        window = Window(days[0], day_of(self._config, now).ends, whose)
        lines = reports.report(self._database, window, days)
        zone = ZoneInfo(self._config.timezone)
        dates = [moment.astimezone(zone).date() for moment in days]
        return Report(
            since=window.since,
            until=now,
            total=_total([line.spent for line in lines if line.kind == "day"]),
            days=_dated(dates, lines),
            models=_items("model", lines),
            agents=_items("agent", lines),
            users=_items("user", lines),
            falls=self._falls(whose, now),
        )

    def _falls(self, whose: str | None, now: datetime) -> Sequence[Fall]:
        day = day_of(self._config, now)
        week = day_of(self._config, now - WEEK)
        window = Window(week.begins, day.ends, whose)
        found = map(_fall, reports.cached(self._database, window, day.begins))
        return [fall for fall in found if fall is not None]


def _days(config: Config, now: datetime, span: timedelta) -> list[datetime]:
    """Return where the days of the last `span` begin, the first where the span does."""
    whole = span % timedelta(days=1) == timedelta()
    # The days of a zone are not all of 24 hours: they are counted by their dates.
    first = day_of(config, now).date - timedelta(days=span.days - 1) if whole else None
    begin = now - span
    zone = ZoneInfo(config.timezone)
    start = begin.astimezone(zone).date() if first is None else first
    count = (day_of(config, now).date - start).days + 1
    midnights = [
        datetime.combine(start + timedelta(days=number), datetime.min.time(), zone)
        for number in range(count)
    ]
    return midnights if first is not None else [begin, *midnights[1:]]


def _dated(dates: Sequence[date], lines: Sequence[Line]) -> list[Item]:
    """Return a line for each day, the newest first; days without calls are there too."""
    found = {line.key: line.spent for line in lines if line.kind == "day"}
    numbered = list(enumerate(dates, start=1))
    return [Item(f"{day}", found.get(number, _NOTHING)) for number, day in reversed(numbered)]


def _items(kind: str, lines: Sequence[Line]) -> list[Item]:
    return [Item(str(line.key or ""), line.spent) for line in lines if line.kind == kind]


def _total(parts: Sequence[Spent]) -> Spent:
    costs = [part.cost for part in parts if part.cost is not None]
    usage = [part.usage for part in parts]
    calls = sum(part.calls for part in parts)
    return Spent(
        calls,
        sum(part.failed for part in parts),
        Usage(
            sum(one.input for one in usage),
            sum(one.output for one in usage),
            sum(one.cache_read for one in usage),
            sum(one.cache_write for one in usage),
            sum(one.reasoning for one in usage),
            sum(one.searches for one in usage),
        ),
        sum(costs, Decimal(0)) if costs or not calls else None,
        sum(part.unpriced for part in parts),
    )


def _fall(use: CacheUse) -> Fall | None:
    if min(use.input, use.input_before) < _TELLING_TOKENS:
        return None
    share, before = use.cache_read / use.input, use.cache_read_before / use.input_before
    if before < _TELLING_SHARE or share >= before / 2:
        return None
    return Fall(use.model, share, before)
