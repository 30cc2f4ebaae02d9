"""Caps and what is spent under them: leave for a call, what a day knows, how all of them stand.

A cap is named by its scope: `day` for everybody together, `user:<id>`, `agent:<name>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import text

from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.llm.types import ModelRef

EVERYBODY = "day"

# A person's own name comes before their role.
_CAPS = """
    SELECT CAST('day' AS text) AS scope, CAST('' AS text) AS name, CAST(:day_cap AS numeric) AS cap
    WHERE CAST(:day_cap AS numeric) IS NOT NULL
    UNION ALL
    SELECT 'agent:' || a.name, a.name, a.cap
    FROM unnest(CAST(:agents AS text[]), CAST(:agent_caps AS numeric[])) AS a(name, cap)
    {which_agents}
    UNION ALL
    SELECT 'user:' || u.id, u.name, own.cap
    FROM users u CROSS JOIN LATERAL (
        SELECT k.cap
        FROM unnest(CAST(:people AS text[]), CAST(:people_caps AS numeric[])) AS k(key, cap)
        WHERE k.key IN (u.name, u.role) ORDER BY k.key = u.name DESC LIMIT 1
    ) own
    {which_users}
"""
_HELD = """
    SELECT h.amount, item.scope FROM spend_holds h, unnest(h.scopes) AS item(scope)
    WHERE h.expires > now()
"""
# One at a time for each cap: whoever waits here sees with the next statement what was held. That is
# planned once: the server would plan it for each day, which takes longer than to run it. The plan
# may have been made when there was nothing in the tables, and must serve when there is a lot.
_LOCK = text("""
    SELECT pg_advisory_xact_lock(hashtextextended(:scope, 7778)),
           set_config('plan_cache_mode', 'force_generic_plan', true),
           set_config('enable_seqscan', 'off', true)
""")
# A call that can do with less than it could cost leaves three quarters of what is left to others: a
# model that can write a lot would else let few begin at once, and each costs far less in the end.
# A day has two ends, though nothing was spent after now: with one the server would guess that a
# third of all rows are of today, and read them all.
_ADMIT = text(f"""
    WITH caps AS (
        {_CAPS.format(which_agents="WHERE a.name = :agent", which_users="WHERE u.id = :user_id")}
    ), settled AS MATERIALIZED (
        SELECT max(ends) AS until FROM spend_sums WHERE scope = 'day'
    ), spent AS MATERIALIZED (
        SELECT coalesce(sum(u.cost), 0) AS everybody,
               coalesce(sum(u.cost) FILTER (WHERE u.user_id = :user_id), 0) AS person,
               coalesce(sum(u.cost) FILTER (WHERE u.agent = :agent), 0) AS agent
        FROM settled s, usage u WHERE u.at >= GREATEST(:begins, s.until) AND u.at < :ends
    ), held AS MATERIALIZED (
        SELECT scope, sum(amount) AS amount FROM ({_HELD} AND h.id <> :id) one GROUP BY scope
    ), judged AS MATERIALIZED (
        SELECT c.scope, c.name, c.cap + coalesce(d.raised, 0) AS cap,
               CASE WHEN c.scope = 'day' THEN s.everybody
                    WHEN c.scope LIKE 'user:%' THEN s.person ELSE s.agent END
               + (SELECT coalesce(sum(b.cost), 0) FROM spend_sums b
                  WHERE b.scope = c.scope AND b.ends > :begins AND b.ends <= :ends) AS spent,
               coalesce(h.amount, 0) AS held
        FROM caps c CROSS JOIN spent s
        LEFT JOIN held h ON h.scope = c.scope
        LEFT JOIN spend_days d ON d.scope = c.scope AND d.day = CAST(:day AS date)
    ), room AS MATERIALIZED (
        SELECT LEAST(:amount, GREATEST(:least, fix + (min(cap - spent - held) - fix) / 4)) AS amount
        FROM judged, (SELECT CAST(:fixed AS numeric) AS fix) f GROUP BY fix
    ), verdict AS MATERIALIZED (
        SELECT r.amount,
               bool_and(spent < cap AND (held = 0 OR spent + held + r.amount <= cap)) AS goes
        FROM judged, room r GROUP BY r.amount
    ), hold AS (
        INSERT INTO spend_holds (id, turn_id, session_id, user_id, agent, provider, model, purpose,
                                 scopes, amount, prompt, expires)
        SELECT :id, :turn_id, :session_id, :user_id, :agent, :provider, :model, :purpose,
               (SELECT array_agg(scope) FROM judged), amount, :prompt,
               now() + :seconds * interval '1 s'
        FROM verdict WHERE goes
        ON CONFLICT (id) DO NOTHING
    ), warned AS (
        INSERT INTO spend_days AS d (scope, day, warned)
        SELECT j.scope, CAST(:day AS date), now() FROM judged j, verdict v
        WHERE v.goes AND j.spent >= j.cap * CAST(:warn_at AS numeric)
        ON CONFLICT (scope, day) DO UPDATE SET warned = now() WHERE d.warned IS NULL
        RETURNING d.scope
    )
    SELECT j.scope, j.name, j.cap, j.spent, j.held, v.goes, v.amount, w.scope IS NOT NULL AS warn
    FROM judged j CROSS JOIN verdict v LEFT JOIN warned w ON w.scope = j.scope
    ORDER BY j.scope
""")
_HOLDING = text(f"""
    SELECT c.scope FROM (
        {_CAPS.format(which_agents="WHERE a.name = :agent", which_users="WHERE u.id = :user_id")}
    ) c LIMIT 1
""")
# Whoever was killed within a call has paid for it, and nobody knows what: its prompt is counted, or
# a turn that kills its worker each time would spend unseen. The line has the hold's name, so that
# it is there once, and so that a run which lives after all can say what it was (store/usage.py).
_LOST = """
    WITH gone AS (
        DELETE FROM spend_holds WHERE {which}
        RETURNING id, turn_id, session_id, user_id, agent, provider, model, prompt, purpose
    )
    INSERT INTO usage (id, turn_id, session_id, user_id, agent, provider, model, input, output,
                       cache_read, cache_write, reasoning, cost, purpose, outcome)
    SELECT id, turn_id, session_id, user_id, agent, provider, model, 0, 0, 0, 0, 0, prompt, purpose,
           'lost'
    FROM gone ON CONFLICT (id) DO NOTHING
"""
_RELEASE = text(_LOST.format(which="turn_id = :turn_id"))
_REMOVE_EXPIRED = text(_LOST.format(which="expires < now()"))
# Whoever raises a cap wants to hear of the new one too.
_RAISE = text("""
    INSERT INTO spend_days AS d (scope, day, raised) VALUES (:scope, :day, :amount)
    ON CONFLICT (scope, day) DO UPDATE SET raised = d.raised + :amount, warned = NULL
""")
_SHOW = text(f"""
    WITH caps AS (
        {_CAPS.format(which_agents="", which_users="")}
    ), spent AS MATERIALIZED (
        SELECT u.user_id, u.agent, sum(u.cost) AS cost
        FROM usage u WHERE u.at >= :begins AND u.at < :ends GROUP BY u.user_id, u.agent
    ), held AS MATERIALIZED (
        SELECT scope, sum(amount) AS amount FROM ({_HELD}) one GROUP BY scope
    )
    SELECT c.scope, c.name, c.cap + coalesce(d.raised, 0) AS cap,
           coalesce(d.raised, 0) AS raised, coalesce(h.amount, 0) AS held,
           (SELECT coalesce(sum(s.cost), 0) FROM spent s
            WHERE c.scope IN ('day', 'user:' || s.user_id, 'agent:' || s.agent)) AS spent
    FROM caps c
    LEFT JOIN held h ON h.scope = c.scope
    LEFT JOIN spend_days d ON d.scope = c.scope AND d.day = CAST(:day AS date)
    ORDER BY c.scope = 'day' DESC, c.scope LIKE 'user:%' DESC, c.name
""")


@dataclass(frozen=True)
class Caps:
    """The caps of the config, in USD a day; people by name or by role."""

    day: Decimal | None
    users: Mapping[str, Decimal]
    agents: Mapping[str, Decimal]

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self.day is not None or bool(self.users) or bool(self.agents)

    def params(self) -> dict[str, Any]:
        """Return them as the statements take them."""
        return {
            "day_cap": self.day,
            "people": list(self.users),
            "people_caps": list(self.users.values()),
            "agents": list(self.agents),
            "agent_caps": list(self.agents.values()),
        }


@dataclass(frozen=True)
class Day:
    """A day of the config's timezone, and the moments between which it lies."""

    date: date
    begins: datetime
    ends: datetime

    def params(self) -> dict[str, Any]:
        """Return it as the statements take it."""
        return {"day": self.date, "begins": self.begins, "ends": self.ends}


@dataclass(frozen=True)
class Asked:
    """A call that wants to begin.

    `amount` is what it costs at most, `least` what it must be allowed to cost to be of use,
    `fixed` what of it is no output, and `prompt` what is paid however soon it breaks off, None
    where the price is unknown. After `seconds` it is held no more, when nobody says how it went.
    """

    hold: str
    model: ModelRef
    turn_id: str | None
    session_id: str | None
    user_id: str | None
    agent: str | None
    purpose: str
    amount: Decimal
    least: Decimal
    fixed: Decimal
    prompt: Decimal | None
    seconds: float


@dataclass(frozen=True)
class Standing:
    """How one cap stands, in USD; `name` is the person's or the agent's.

    `cap` is with what an owner added today (`raised`), `held` what calls under way may cost yet.
    """

    scope: str
    name: str
    cap: Decimal
    spent: Decimal
    held: Decimal
    raised: Decimal = Decimal(0)


@dataclass(frozen=True)
class Verdict:
    """Whether a call may begin, how the caps that hold for it stand, and whom to warn of which.

    Without any cap it may. `warn` is filled once a day and cap, when most of it is spent. `held`
    is what it may cost, in USD.
    """

    goes: bool
    caps: Sequence[Standing]
    warn: Sequence[Standing]
    held: Decimal = Decimal(0)


def any_for(database: Database, caps: Caps, user_id: str | None, agent: str | None) -> bool:
    """Return whether any cap holds for the calls of a person and an agent."""
    scopes = _scopes(caps, user_id, agent)
    if not scopes:
        return False
    return bool(database.run(_HOLDING, **caps.params(), user_id=user_id, agent=agent))


def admit(database: Database, caps: Caps, day: Day, asked: Asked, warn_at: Decimal) -> Verdict:
    """Judge a call, and hold what it may cost when it may begin: one round trip.

    Under a lock for each cap, which ends with it. Again with the same hold changes nothing.
    """
    scopes = _scopes(caps, asked.user_id, asked.agent)
    if not scopes:
        return Verdict(goes=True, caps=(), warn=())
    rows = database.run_after(
        [(_LOCK, {"scope": scope}) for scope in scopes],
        _ADMIT,
        **caps.params(),
        **day.params(),
        id=asked.hold,
        turn_id=asked.turn_id,
        session_id=asked.session_id,
        provider=asked.model.provider,
        model=asked.model.model,
        purpose=asked.purpose,
        user_id=asked.user_id,
        agent=asked.agent,
        amount=asked.amount,
        least=asked.least,
        fixed=asked.fixed,
        prompt=asked.prompt,
        seconds=asked.seconds,
        warn_at=warn_at,
    )
    standings = [_standing(row) for row in rows]
    warn = [one for one, row in zip(standings, rows, strict=True) if row.warn]
    held = rows[0].amount if rows else Decimal(0)
    return Verdict(all(row.goes for row in rows), standings, warn, held)


def release_of_turn(work: Work, turn_id: str) -> None:
    """Let go of what a run of a turn held that is no more, and keep that it was spent.

    It travels with what follows.
    """
    work.defer(_RELEASE, turn_id=turn_id)


def remove_expired(database: Database) -> int:
    """Remove what is held no more, keep that it was spent, and say how many."""
    return database.run(_REMOVE_EXPIRED).changed


def raise_cap(work: Work, scope: str, day: Day, amount: Decimal) -> None:
    """Add to a cap for one day."""
    work.execute(_RAISE, scope=scope, day=day.date, amount=amount)


def standings(work: Work, caps: Caps, day: Day) -> Sequence[Standing]:
    """Return how every cap stands: everybody's, then people's, then agents'."""
    rows = work.execute(_SHOW, **caps.params(), **day.params())
    return [_standing(row, row.raised) for row in rows]


def _scopes(caps: Caps, user_id: str | None, agent: str | None) -> list[str]:
    """Return the caps that may hold for a call, always in the same order: nobody waits crosswise.

    Whether the person has one, only the database knows.
    """
    found = [EVERYBODY] if caps.day is not None else []
    if agent in caps.agents:
        found.append(f"agent:{agent}")
    if caps.users and user_id is not None:
        found.append(f"user:{user_id}")
    return found


def _standing(row: Row, raised: Decimal = Decimal(0)) -> Standing:
    return Standing(row.scope, row.name, row.cap, row.spent, row.held, raised)
