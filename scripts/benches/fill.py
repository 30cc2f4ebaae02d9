"""Rows that only years of use would bring, written by the database itself."""

from __future__ import annotations

from dataclasses import dataclass

from scripts.benches.client import PROMPT
from scripts.harness.http import Api
from scripts.harness.records import Records

# Ids are digests, as real ones are: rows in the order of their index would flatter it.
_CONVERSATIONS = """
    INSERT INTO conversations (id, channel, account, chat, agent, session_id, next_seq)
    SELECT 'cnv_' || md5('c' || n), 'openai', 'openai', 'chat_' || md5('h' || n), 'habakkuk',
           'ses_' || md5('s' || n), 3
    FROM generate_series(1, %s) AS n
"""
_SESSIONS = """
    INSERT INTO sessions (id, conversation_id, agent, system_prompt, prompt_parts, title,
                          title_source)
    SELECT 'ses_' || md5('s' || n), 'cnv_' || md5('c' || n), 'habakkuk', repeat('A prompt. ', 100),
           '[]', 'A title of some words', 'auto'
    FROM generate_series(1, %s) AS n
"""
_JOBS = """
    INSERT INTO jobs (id, kind, queue, serial_key, state, fence, result, run_at, created, finished)
    SELECT 'trn_' || md5('t' || n), 'turn', 'turns', 's:ses_' || md5('s' || (n %% %s + 1)), 'done',
           nextval('fence_seq'), '{"reply_seq": 2}', at, at, at
    FROM generate_series(1, %s) AS n, LATERAL (SELECT now() - n * interval '30 s' AS at) AS t
"""
_TURNS = """
    INSERT INTO turns (id, session_id, conversation_id, agent, origin, began, ended, outcome,
                       reply_seq, created)
    SELECT 'trn_' || md5('t' || n), 'ses_' || md5('s' || (n %% %s + 1)),
           'cnv_' || md5('c' || (n %% %s + 1)), 'habakkuk', 'openai', at, at, 'done', 2, at
    FROM generate_series(1, %s) AS n, LATERAL (SELECT now() - n * interval '30 s' AS at) AS t
"""
_MESSAGES = """
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks)
    SELECT 'ses_' || md5('s' || n), m, 'trn_' || md5('t' || n), m - 1,
           CASE m WHEN 1 THEN 'user' ELSE 'assistant' END,
           '[{"type": "text", "text": "Words of a usual length, of which there are some here."}]'
    FROM generate_series(1, %s) AS n, generate_series(1, 2) AS m
"""
_CHAT = """
    INSERT INTO chat_messages (conversation_id, seq, author, body, state, turn_id)
    SELECT 'cnv_' || md5('c' || n), m, CASE m WHEN 1 THEN 'user' ELSE 'agent' END,
           'Words of a usual length, of which there are some here.',
           CASE m WHEN 1 THEN 'taken' ELSE 'sent' END, 'trn_' || md5('t' || n)
    FROM generate_series(1, %s) AS n, generate_series(1, 2) AS m
"""
# What it points at was just written: checking each row again would take most of the time.
_UNCHECKED = "SET session_replication_role = replica"
_CHECKED = "SET session_replication_role = origin"
_LENGTHEN = """
    INSERT INTO messages (session_id, seq, job_id, step, role, blocks)
    SELECT %s, n, 'trn_' || md5(%s || n), 0, CASE n %% 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
           jsonb_build_array(jsonb_build_object('type', 'text', 'text', n || repeat(%s, %s)))
    FROM generate_series(3, %s) AS n
"""
_NEWEST = "SELECT id FROM sessions WHERE agent = %s ORDER BY created DESC LIMIT %s"
# With these a session of 400 messages is 150 kB on the wire, as in the budget.
_WORDS, _REPEATED = " words of a talk that was", 10


@dataclass(frozen=True)
class Rows:
    """How many rows to add."""

    sessions: int
    jobs: int


def fill(records: Records, rows: Rows) -> None:
    """Add sessions and finished turns, and tell the planner of them."""
    records.execute(_UNCHECKED)
    records.execute(_CONVERSATIONS, rows.sessions)
    records.execute(_SESSIONS, rows.sessions)
    records.execute(_MESSAGES, rows.sessions)
    records.execute(_CHAT, rows.sessions)
    records.execute(_JOBS, rows.sessions, rows.jobs)
    records.execute(_TURNS, rows.sessions, rows.sessions, rows.jobs)
    records.execute(_CHECKED)
    # What autovacuum would do in the middle of the measurement.
    records.execute("VACUUM (ANALYZE)")
    records.execute("CHECKPOINT")


def long_session(api: Api, records: Records, agent: str, messages: int) -> str:
    """Return a session of the agent with this many messages."""
    body = {
        "model": f"habakkuk/{agent}",
        "messages": [{"role": "user", "content": PROMPT}],
        "stream": False,
    }
    session = api.post("/v1/chat/completions", body).headers["x-habakkuk-session"]
    records.execute(_LENGTHEN, session, session, _WORDS, _REPEATED, messages)
    return session


def newest_sessions(records: Records, agent: str, count: int) -> list[str]:
    """Return the sessions of an agent that were made last."""
    return [str(row["id"]) for row in records.rows(_NEWEST, agent, count)]
