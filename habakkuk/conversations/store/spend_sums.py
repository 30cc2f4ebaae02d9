"""What was spent under each cap, summed up in pieces of five minutes.

Leave for a call would else read the ledger's whole day under the lock of everybody's cap, which
took 50 ms with 100,000 lines. What is newer than the last piece is read from the ledger.
"""

from __future__ import annotations

from sqlalchemy import text

from habakkuk.db.engine import Database

# A piece is final: no transaction of ours is open for two minutes after the moment that its lines
# have. The newest of everybody is there even if nothing was spent, since it tells how far the sums
# go. They begin more than a day ago, because a day of another zone does; every one of them begins
# between two pieces.
_SETTLE = text("""
    WITH span AS (
        SELECT GREATEST(
                   (SELECT max(ends) FROM spend_sums WHERE scope = 'day'),
                   date_bin('5 minutes', now() - interval '26 hours', TIMESTAMPTZ 'epoch')
               ) AS begins,
               date_bin('5 minutes', now() - interval '2 minutes', TIMESTAMPTZ 'epoch') AS ends
    ), lines AS MATERIALIZED (
        SELECT date_bin('5 minutes', u.at, TIMESTAMPTZ 'epoch') + interval '5 minutes' AS ends,
               u.user_id, u.agent, u.cost
        FROM span s, usage u WHERE u.at >= s.begins AND u.at < s.ends AND u.cost IS NOT NULL
    ), old AS (
        DELETE FROM spend_sums WHERE ends < now() - interval '3 days'
    )
    INSERT INTO spend_sums (scope, ends, cost)
    SELECT scope, ends, sum(cost) FROM (
        SELECT 'day' AS scope, ends, cost FROM lines
        UNION ALL SELECT 'user:' || user_id, ends, cost FROM lines WHERE user_id IS NOT NULL
        UNION ALL SELECT 'agent:' || agent, ends, cost FROM lines WHERE agent IS NOT NULL
        UNION ALL SELECT 'day', ends, 0 FROM span
    ) one
    GROUP BY scope, ends
    ON CONFLICT (scope, ends) DO NOTHING
""")


def settle(database: Database) -> None:
    """Sum up what lies back; again, or by two at once, changes nothing."""
    database.run(_SETTLE)
