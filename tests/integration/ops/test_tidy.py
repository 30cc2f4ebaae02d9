"""The daily job: once a day, whoever asks for it, and gone with it what was left half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.jobs.host import Host, Identity
from habakkuk.jobs.types import JobState
from habakkuk.ops.store import unnamed_blobs
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack, until


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str) -> Iterator[Stack]:
    with ModelServer() as model:
        made = Stack(home, database_url, redis_url, model)
        yield made
        made.close()


def test_a_day_has_one_job_that_removes_leftovers(stack: Stack) -> None:
    left = stack.home / "blobs" / "ab" / ".part-left"
    left.parent.mkdir(parents=True)
    left.touch()
    os.utime(left, (0, 0))
    database = stack.container.database
    database.run(
        text(
            "INSERT INTO spend_holds (id, provider, model, scopes, amount, expires)"
            " VALUES ('old', 'mine', 'm', '{day}', 1, now() - interval '1 s'),"
            " ('new', 'mine', 'm', '{day}', 1, 'infinity')"
        )
    )
    database.run(
        text(
            "INSERT INTO processes (id, agent, session_id, turn_id, command, folder)"
            " VALUES ('p', 'habakkuk', 's', 't', 'cat', '/')"
        )
    )
    database.run(
        text(
            "INSERT INTO process_inputs (process_id, key, data, eof, outcome, created) VALUES"
            " ('p', 'old', '', false, 'written', now() - interval '25 h'),"
            " ('p', 'waits', 'x', false, NULL, now() - interval '25 h'),"
            " ('p', 'new', '', false, 'written', now())"
        )
    )
    refused = stack.container.blobs.put(b"of a refused request", "image/png")
    database.run(text("UPDATE blobs SET stored = now() - interval '25 h'"))
    young = stack.container.blobs.put(b"of a request that comes now", "image/png")
    for _ in range(2):
        stack.container.maintain()
    (job,) = stack.container.jobs.list(kind="tidy")
    host = Host(stack.container, Identity("test", "worker", "0"), {"maintenance": 1})
    host.start()
    try:
        until(lambda: (found := stack.container.jobs.get(job.id)) and not found.state.alive)
    finally:
        assert host.stop(10)
    found = stack.container.jobs.get(job.id)
    assert found is not None
    assert found.state is JobState.DONE
    assert not left.exists()
    assert not (stack.home / "blobs" / refused[:2] / refused).exists()
    assert [row.id for row in database.run(text("SELECT id FROM blobs"))] == [young]
    assert [row.id for row in database.run(text("SELECT id FROM spend_holds"))] == ["new"]
    inputs = database.run(text("SELECT key FROM process_inputs ORDER BY seq"))
    assert [row.key for row in inputs] == ["waits", "new"]


_ROWS = (
    "INSERT INTO conversations (id, channel, account, chat, agent, session_id)"
    " VALUES ('c', 'web', 'web', 'c', 'habakkuk', 's')",
    "INSERT INTO sessions (id, conversation_id, agent) VALUES ('s', 'c', 'habakkuk')",
    "INSERT INTO chat_messages (conversation_id, seq, author, body, data, state)"
    " VALUES ('c', 1, 'user', '', '{\"files\": [{\"blob\": \"in a chat\"}]}', 'withdrawn')",
    "INSERT INTO messages (session_id, seq, job_id, step, role, blocks) VALUES ('s', 1, 'j', 0,"
    ' \'user\', \'[{"type": "text", "text": ""},'
    ' {"type": "media", "blob": "in a transcript", "mime": "image/png"}]\')',
    "INSERT INTO jobs (id, kind, queue, state, finished, payload)"
    " SELECT state, 'turn', 'turns', state, CASE state WHEN 'failed' THEN now() END,"
    ' CAST(format(\'{"seed": [{"blocks": [{"type": "media", "blob": "for a %s job"}]}]}\', state)'
    " AS jsonb) FROM unnest(ARRAY['pending', 'failed', 'cancelled']) AS state",
)
_NAMED = ("in a chat", "in a transcript", "for a pending job", "for a failed job")


def test_only_old_files_that_nothing_names_are_unnamed(stack: Stack) -> None:
    database = stack.container.database
    for row in _ROWS:
        database.run(text(row))
    of_sessions = {"output": "s", "output of a session that is gone": "gone"}
    for blob in (*_NAMED, *of_sessions, "for a cancelled job", "of a refused request", "young"):
        database.run(
            text(
                "INSERT INTO blobs (id, size, mime, session_id, stored)"
                " VALUES (:id, 1, 'x/y', :session, now() - interval '1 h' * :hours)"
            ),
            id=blob,
            session=of_sessions.get(blob),
            hours=1 if blob == "young" else 25,
        )
    assert set(unnamed_blobs(database, 86_400, 10)) == {
        "for a cancelled job",
        "of a refused request",
        "output of a session that is gone",
    }
    assert len(unnamed_blobs(database, 86_400, 2)) == 2
