"""SQL of background processes: what tools ask for, and what the service makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import text

from habakkuk.db.engine import Database, Work
from habakkuk.db.statements import Row
from habakkuk.processes.types import Census, End, NewInput, NewProcess, Process, ProcessState

# What the service listens to: there is something to do.
CHANNEL = "hab_processes"
# What its listening connection is called, by which it is known to be there.
CONNECTION = "habakkuk processes line"
_LOCKS = 7780
# Of what a process was given before: a line that takes more is none that anybody types.
_MOST_TYPED = 65_536
_ALIVE = "state IN ('starting', 'running')"
_COLUMNS = """
    p.id, p.agent, p.session_id, p.turn_id, p.command, p.folder, p.place, p.seconds, p.notify,
    p.state, p.code, p.reason, p.created, p.kill_asked IS NOT NULL AS kill_asked,
    CAST(extract(epoch FROM coalesce(p.finished, clock_timestamp()) - p.started) AS float8) AS ran,
    CAST(extract(epoch FROM clock_timestamp() - p.finished) AS float8) AS ago
"""
# Nobody is told of what was ended on purpose; of a start that failed the call itself tells.
_DUE = """
    p.notify AND p.notified IS NULL AND p.finished IS NOT NULL
    AND (p.state IN ('exited', 'timed_out', 'lost') OR p.state = 'failed' AND p.started IS NOT NULL)
"""
_GET = text(f"SELECT {_COLUMNS} FROM processes p WHERE p.id = :id")
_LIST = text(f"""
    SELECT {_COLUMNS} FROM processes p
    WHERE CAST(:agent AS text) IS NULL OR p.agent = :agent
    ORDER BY p.finished DESC NULLS FIRST, p.created DESC LIMIT :most
""")
# One start after the other, or two could both find the last place.
_ONE_BY_ONE = text(f"SELECT pg_advisory_xact_lock({_LOCKS}, hashtext(:agent))")
_RUNNING = text(f"SELECT count(*) AS n FROM processes WHERE agent = :agent AND {_ALIVE}")
_ADD = text("""
    INSERT INTO processes (id, agent, session_id, turn_id, command, folder, place, seconds, notify)
    VALUES (:id, :agent, :session_id, :turn_id, :command, :folder, CAST(:place AS jsonb), :seconds,
            :notify)
""")
_TELL_KEEPER = text(f"SELECT pg_notify('{CHANNEL}', '')")
_WITHDRAW = text("""
    UPDATE processes SET state = 'failed', reason = :reason, finished = clock_timestamp()
    WHERE id = :id AND state = 'starting' AND keeper IS NULL RETURNING id
""")
_WITHDRAW_LATE = text("""
    UPDATE processes SET state = 'failed', reason = :reason, finished = clock_timestamp()
    WHERE state = 'starting' AND keeper IS NULL AND created < now() - :older * interval '1 s'
""")
_CLAIM = text(f"""
    UPDATE processes p SET keeper = :keeper
    WHERE p.id = (SELECT id FROM processes WHERE state = 'starting' AND keeper IS NULL
                  ORDER BY created LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING {_COLUMNS}
""")
_BEGIN = text("""
    UPDATE processes SET state = 'running', started = clock_timestamp()
    WHERE id = :id AND keeper = :keeper AND state = 'starting'
""")
_WANTED = "kill_asked IS NOT NULL AND state IN ('starting', 'running')"
_FINISH = text(f"""
    UPDATE processes SET finished = clock_timestamp(), code = :code, typed = '',
           state = CASE WHEN {_WANTED} AND :state <> 'failed' THEN 'killed' ELSE :state END,
           reason = CASE WHEN {_WANTED} THEN reason ELSE :reason END
    WHERE id = :id AND keeper = :keeper AND {_ALIVE} RETURNING agent
""")
_LOSE = text(f"""
    UPDATE processes SET finished = clock_timestamp(), typed = '',
           state = CASE WHEN {_WANTED} THEN 'killed' ELSE 'lost' END
    WHERE keeper <> :keeper AND {_ALIVE} RETURNING id
""")
_OWN = text(f"""
    SELECT id, kill_asked IS NOT NULL AS kill_asked, state = 'running' AS begun FROM processes
    WHERE keeper = :keeper AND {_ALIVE}
""")
# One that nobody has taken yet never runs.
_KILL = text(f"""
    UPDATE processes SET kill_asked = coalesce(kill_asked, now()),
           reason = CASE WHEN kill_asked IS NULL THEN :by ELSE reason END,
           state = CASE WHEN keeper IS NULL THEN 'killed' ELSE state END,
           finished = CASE WHEN keeper IS NULL THEN clock_timestamp() ELSE finished END
    WHERE id = :id AND {_ALIVE}
""")
_TYPED = """
    SELECT p.typed, p.inputs, EXISTS (
               SELECT FROM process_inputs i WHERE i.process_id = p.id AND i.key = :key) AS given
    FROM processes p WHERE p.id = :process_id
"""
_READ_TYPED = text(_TYPED)
_LOCK_TYPED = text(f"{_TYPED} FOR NO KEY UPDATE")
_GIVE = text("""
    WITH given AS (
        INSERT INTO process_inputs (process_id, key, data, eof)
        VALUES (:process_id, :key, :data, :eof) RETURNING process_id, data
    )
    UPDATE processes p SET inputs = p.inputs + 1,
           typed = substring(p.typed || g.data
                             FROM greatest(1, length(p.typed) + length(g.data) - :most + 1))
    FROM given g WHERE p.id = g.process_id
""")
_OUTCOME = text("SELECT outcome FROM process_inputs WHERE process_id = :process_id AND key = :key")
_TAKE_INPUTS = text("""
    WITH taken AS (
        SELECT i.process_id, i.key, i.data FROM process_inputs i
        JOIN processes p ON p.id = i.process_id
        WHERE i.outcome IS NULL
          AND (p.keeper = :keeper AND p.state = 'running' OR p.finished IS NOT NULL)
        FOR UPDATE OF i
    )
    UPDATE process_inputs i SET outcome = 'taken', data = '' FROM taken t
    WHERE i.process_id = t.process_id AND i.key = t.key
    RETURNING i.process_id, i.key, i.seq, t.data, i.eof
""")
_SETTLE = text("""
    UPDATE process_inputs SET outcome = :outcome WHERE process_id = :process_id AND key = :key
""")
_UNTOLD = text(f"""
    SELECT {_COLUMNS}, t.reply_to, c.channel, c.account, c.chat, c.thread,
           u.id AS user_id, u.name, u.role
    FROM processes p
    LEFT JOIN turns t ON t.id = p.turn_id
    LEFT JOIN conversations c ON c.id = t.conversation_id
    LEFT JOIN users u ON u.id = t.user_id
    WHERE {_DUE} AND NOT p.id = ANY(:resting) ORDER BY p.finished LIMIT :most
""")
# Guidance is a message of the turn that it is for.
_IN_A_ROW = text("""
    SELECT count(*) AS n FROM turns t
    WHERE t.session_id = :session_id AND t.origin = :origin AND t.created > coalesce((
        SELECT max(m.created) FROM chat_messages m JOIN turns said ON said.id = m.turn_id
        WHERE said.session_id = :session_id AND m.author = 'user'), '-infinity')
""")
_PRUNE = text("""
    DELETE FROM process_inputs
    WHERE created < now() - :older * interval '1 s' AND outcome IS NOT NULL RETURNING key
""")
_TOLD = text("UPDATE processes SET notified = now() WHERE id = :id AND notified IS NULL")
_FORGET = text(f"""
    DELETE FROM processes WHERE id IN (
        SELECT p.id FROM (
            SELECT *, row_number() OVER (PARTITION BY agent ORDER BY finished DESC) AS place_in_line
            FROM processes WHERE finished IS NOT NULL
        ) p WHERE p.place_in_line > :kept AND NOT ({_DUE})
    ) RETURNING id
""")
_CENSUS = text(f"""
    SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
                   AND application_name = '{CONNECTION}') AS kept,
           (SELECT count(*) FROM processes WHERE {_ALIVE}) AS running
""")


@dataclass(frozen=True)
class Input:
    """Input that the service has taken, to be written."""

    process_id: str
    key: str
    data: bytes
    eof: bool


@dataclass(frozen=True)
class Typed:
    """The end of all that a process was given, and how many inputs that were."""

    data: bytes
    inputs: int


@dataclass(frozen=True)
class Own:
    """What a row says of a keeper's process: whether it shall end, whether it is known to run."""

    kill_asked: bool
    begun: bool


@dataclass(frozen=True)
class Untold:
    """An end to be told, with what the turn that started the process was for.

    `where` is the address's channel, account, chat and thread, `who` the person's id, name and
    role; None when the conversation or the person is gone.
    """

    process: Process
    reply_to: dict[str, Any]
    where: tuple[str, str, str, str] | None
    who: tuple[str, str, str] | None


def get(database: Database, process_id: str) -> Process | None:
    """Return a process."""
    rows = database.run(_GET, id=process_id)
    return _process(rows[0]) if rows else None


def listed(database: Database, agent: str | None, most: int) -> list[Process]:
    """Return an agent's processes, those that run first, then the latest; None: everybody's."""
    return [_process(row) for row in database.run(_LIST, agent=agent, most=most)]


def add(work: Work, new: NewProcess, most: int) -> bool:
    """Store a process to be started and tell the service; False when the agent has too many.

    One that is known already stays as it is.
    """
    work.execute(_ONE_BY_ONE, agent=new.agent)
    if work.execute(_GET, id=new.id).first() is not None:
        return True
    if work.execute(_RUNNING, agent=new.agent)[0].n >= most:
        return False
    place = None if new.place is None else orjson.dumps(new.place).decode()
    values = {key: getattr(new, key) for key in new.__dataclass_fields__ if key != "place"}
    work.execute(_ADD, place=place, **values)
    work.execute(_TELL_KEEPER)
    return True


def withdraw(database: Database, process_id: str, reason: str) -> bool:
    """Take back a start that the service has not taken; False when it has."""
    return bool(database.run(_WITHDRAW, id=process_id, reason=reason))


def withdraw_late(database: Database, older: float, reason: str) -> None:
    """Take back the starts that nobody took within `older` seconds."""
    database.run(_WITHDRAW_LATE, older=older, reason=reason)


def claim(database: Database, keeper: str) -> Process | None:
    """Take the next process to start: from now on it is started by this keeper or never."""
    rows = database.run(_CLAIM, keeper=keeper)
    return _process(rows[0]) if rows else None


def begin(database: Database, process_id: str, keeper: str) -> None:
    """Note that a process runs."""
    database.run(_BEGIN, id=process_id, keeper=keeper)


def finish(database: Database, process_id: str, keeper: str, end: End) -> bool:
    """Note how a process ended; `killed` when it was told to. False when that is known already."""
    values = {"state": str(end.state), "code": end.code, "reason": end.reason}
    return bool(database.run(_FINISH, id=process_id, keeper=keeper, **values))


def lose(database: Database, keeper: str) -> list[str]:
    """Note that what other keepers had is lost: they are gone. Return the ids."""
    return [row.id for row in database.run(_LOSE, keeper=keeper)]


def own(database: Database, keeper: str) -> dict[str, Own]:
    """Return which processes are this keeper's, by id, as the rows say."""
    rows = database.run(_OWN, keeper=keeper)
    return {row.id: Own(row.kill_asked, row.begun) for row in rows}


def ask_kill(work: Work, process_id: str, by: str) -> None:
    """Ask for a process to be ended; one that has ended stays as it is."""
    work.execute(_KILL, id=process_id, by=by)
    work.execute(_TELL_KEEPER)


def typed(work: Work, new: NewInput) -> Typed | None:
    """Return what a process was given before; None when it is not known or has this already."""
    row = work.execute(_READ_TYPED, process_id=new.process_id, key=new.key).first()
    return None if row is None or row.given else Typed(bytes(row.typed), row.inputs)


def give(work: Work, new: NewInput, seen: int) -> bool:
    """Store input for a process, once a key; False when more was given than the `seen` inputs."""
    row = work.execute(_LOCK_TYPED, process_id=new.process_id, key=new.key).first()
    if row is None or row.given:
        return True
    if row.inputs != seen:
        return False
    values = {"process_id": new.process_id, "key": new.key, "data": new.data, "eof": new.eof}
    work.execute(_GIVE, most=_MOST_TYPED, **values)
    work.execute(_TELL_KEEPER)
    return True


def outcome(database: Database, new: NewInput) -> str | None:
    """Return what became of input, None while nobody took it."""
    rows = database.run(_OUTCOME, process_id=new.process_id, key=new.key)
    return rows[0].outcome if rows else "closed"


def take_inputs(database: Database, keeper: str) -> list[Input]:
    """Take the input that is there, in its order: it is written now or never."""
    rows = sorted(database.run(_TAKE_INPUTS, keeper=keeper), key=lambda row: int(row.seq))
    return [Input(row.process_id, row.key, bytes(row.data), row.eof) for row in rows]


def settle(database: Database, process_id: str, key: str, result: str) -> None:
    """Note what became of input that was taken."""
    database.run(_SETTLE, process_id=process_id, key=key, outcome=result)


def untold(database: Database, most: int, resting: Sequence[str]) -> list[Untold]:
    """Return the ends that are to start a turn and have not, the oldest first, but for some."""
    return [_untold(row) for row in database.run(_UNTOLD, most=most, resting=list(resting))]


def in_a_row(database: Database, session_id: str, origin: str) -> int:
    """Return how many turns of an origin a session had since a person last said something."""
    return int(database.run(_IN_A_ROW, session_id=session_id, origin=origin)[0].n)


def prune_inputs(database: Database, older: float) -> int:
    """Remove the rows of input that is done with, `older` seconds after; return how many."""
    return len(database.run(_PRUNE, older=older))


def told(database: Database, process_id: str) -> None:
    """Note that an end was told."""
    database.run(_TOLD, id=process_id)


def forget(database: Database, kept: int) -> list[str]:
    """Remove all but each agent's latest `kept` processes that have ended; return the ids."""
    return [row.id for row in database.run(_FORGET, kept=kept)]


def census(database: Database) -> Census:
    """Return whether the service is there and how many processes run."""
    row = database.run(_CENSUS)[0]
    return Census(row.kept, row.running)


def _process(row: Row) -> Process:
    return Process(
        id=row.id,
        agent=row.agent,
        session_id=row.session_id,
        turn_id=row.turn_id,
        command=row.command,
        folder=row.folder,
        place=(row.place[0], row.place[1]) if row.place else None,
        seconds=row.seconds,
        notify=row.notify,
        state=ProcessState(row.state),
        code=row.code,
        reason=row.reason,
        created=row.created,
        ran=row.ran,
        ago=row.ago,
        kill_asked=row.kill_asked,
    )


def _untold(row: Row) -> Untold:
    where = None if row.channel is None else (row.channel, row.account, row.chat, row.thread)
    who = None if row.user_id is None else (row.user_id, row.name, row.role)
    return Untold(_process(row), row.reply_to or {}, where, who)
