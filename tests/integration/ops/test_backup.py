"""Backup under load, restore elsewhere, everything readable."""

from __future__ import annotations

import io
import os
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.bootstrap import Container, build
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import ConfigurationError, Conflict, Invalid
from habakkuk.db.engine import Database
from habakkuk.db.revision import current_revision, expected_revision
from habakkuk.ops.backup import make_backup, whole_file
from habakkuk.ops.binaries import find_client
from habakkuk.ops.restore import restore_backup
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack


@pytest.fixture
def stack(home: Path, fresh_database_url: str, redis_url: str) -> Iterator[Stack]:
    with ModelServer() as model:
        made = Stack(home, fresh_database_url, redis_url, model)
        yield made
        made.close()


@pytest.fixture
def other_home(tmp_path: Path) -> Path:
    return tmp_path / "other"


def settings_of(home: Path, database_url: str) -> Settings:
    values = {
        "HABAKKUK_HOME": str(home),
        "DATABASE_URL": database_url,
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "PATH": os.environ["PATH"],
        "MINE_KEY": "key",
    }
    return load_settings(read_environment(values))


def saved(stack: Stack, *, secrets: bool = False) -> bytes:
    out = io.BytesIO()
    make_backup(stack.container.settings, out, secrets=secrets)
    return out.getvalue()


def brought_back(raw: bytes, home: Path, url: str, *, replace: bool = False) -> None:
    restore_backup(settings_of(home, url), io.BytesIO(raw), replace=replace)


def names(raw: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(raw)) as tar:
        return tar.getnames()


def saved_under_load(stack: Stack) -> bytes:
    """Return a backup made while messages and files come in."""
    enough, stop = threading.Event(), threading.Event()

    def go_on() -> None:
        count = 0
        while not stop.is_set():
            stack.say(f"message {count}", f"chat {count % 5}")
            stack.container.blobs.put(f"blob {count}".encode() * 1000, "text/plain")
            count += 1
            if count == 10:
                enough.set()

    writer = threading.Thread(target=go_on)
    writer.start()
    try:
        assert enough.wait(60)
        return saved(stack)
    finally:
        stop.set()
        writer.join()


def test_a_backup_under_load_is_whole(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    stack.start()
    before = stack.say("before", "first")
    stack.ended(before)
    kept = stack.container.blobs.put(b"\x00 a picture", "image/png")

    brought_back(saved_under_load(stack), other_home, empty_database_url)

    assert current_revision(empty_database_url) == expected_revision()
    container = build(settings_of(other_home, empty_database_url), name="restored")
    try:
        turn = container.conversations.turn(stack.principal, before.turn_id or "")
        reply = container.conversations.reply(turn)
        assert reply is not None
        assert reply.body == stack.reply(before).body
        assert container.conversations.transcript(stack.principal, before.session_id)
        assert container.blobs.get(kept) == b"\x00 a picture"
        _check_rows(container)
    finally:
        container.close()


def _check_rows(container: Container) -> None:
    """Every file that a row names is there, and no message is missing in between."""
    rows = container.database.run(text("SELECT id FROM blobs"))
    assert len(rows) > 10
    for row in rows:
        assert container.blobs.get(row.id)
    gaps = container.database.run(
        text("SELECT 1 FROM chat_messages GROUP BY conversation_id HAVING max(seq) <> count(*)")
    )
    assert list(gaps) == []


def test_the_home_comes_back_without_what_belongs_to_a_run(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    (stack.home / ".env").write_text("MINE_KEY=a-secret-key\n")
    (stack.home / "logs").mkdir()
    (stack.home / "logs" / "web.log").write_text("a line")
    (stack.home / "run.json").write_text("{}")
    workspace = stack.home / "agents" / "habakkuk" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "notes.txt").write_text("mine")
    raw = saved(stack)
    assert b"a-secret-key" not in raw
    assert not [name for name in names(raw) if "logs" in name or "run.json" in name]
    (stack.home / "run.json").unlink()

    brought_back(raw, other_home, empty_database_url)

    assert (other_home / "agents/habakkuk/workspace/notes.txt").read_text() == "mine"
    assert (other_home / "config.yaml").read_text() == (stack.home / "config.yaml").read_text()
    assert not (other_home / ".env").exists()
    assert not list(other_home.glob(".scratch-*"))


def test_secrets_come_along_when_asked_for(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    (stack.home / ".env").write_text("MINE_KEY=a-secret-key\n")
    brought_back(saved(stack, secrets=True), other_home, empty_database_url)
    assert (other_home / ".env").read_text() == "MINE_KEY=a-secret-key\n"
    assert (other_home / ".env").stat().st_mode & 0o777 == 0o600


def test_a_used_database_is_replaced_only_when_told(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    stack.say("kept", "c")
    raw = saved(stack)
    brought_back(raw, other_home, empty_database_url)
    database = Database(empty_database_url, pool_size=1, name="test")
    database.run(text("UPDATE chat_messages SET body = 'later'"))
    database.run(text("CREATE TABLE of_a_later_version (id text)"))
    (other_home / "config.yaml").write_text("logs: {level: debug}\n")
    with pytest.raises(Conflict, match="--yes"):
        brought_back(raw, other_home, empty_database_url)
    assert database.run(text("SELECT body FROM chat_messages"))[0][0] == "later"

    brought_back(raw, other_home, empty_database_url, replace=True)

    assert database.run(text("SELECT body FROM chat_messages"))[0][0] == "kept"
    assert database.run(text("SELECT to_regclass('of_a_later_version')"))[0][0] is None
    assert (other_home / "config.yaml").read_text() == (stack.home / "config.yaml").read_text()
    database.dispose()


def test_files_that_are_there_are_replaced_only_when_told(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    raw = saved(stack)
    other_home.mkdir()
    (other_home / "config.yaml").write_text("logs: {level: debug}\n")
    with pytest.raises(Conflict, match="--yes"):
        brought_back(raw, other_home, empty_database_url)
    assert (other_home / "config.yaml").read_text() == "logs: {level: debug}\n"


def test_a_database_in_use_is_never_touched(
    stack: Stack, other_home: Path, fresh_database_url: str
) -> None:
    stack.say("kept", "c")
    raw = saved(stack)
    with pytest.raises(Conflict, match="in use by habakkuk test"):
        brought_back(raw, other_home, fresh_database_url, replace=True)
    assert stack.container.database.run(text("SELECT count(*) FROM chat_messages"))[0][0] == 1


def with_manifest(raw: bytes, old: bytes, new: bytes) -> bytes:
    assert len(old) == len(new)
    assert raw.count(old) == 1
    return raw.replace(old, new)


def test_a_backup_of_a_later_version_is_refused(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    revision = expected_revision().encode()
    raw = with_manifest(
        saved(stack), b'"revision": "' + revision + b'"', b'"revision": "9' + revision[1:] + b'"'
    )
    with pytest.raises(Conflict, match="update Habakkuk first"):
        brought_back(raw, other_home, empty_database_url)
    assert current_revision(empty_database_url) is None


def test_a_backup_of_a_later_postgresql_is_refused(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    raw = with_manifest(saved(stack), b'"server": 18', b'"server": 99')
    with pytest.raises(Conflict, match="PostgreSQL 99"):
        brought_back(raw, other_home, empty_database_url)


def test_a_damaged_dump_changes_nothing(
    stack: Stack, other_home: Path, empty_database_url: str
) -> None:
    raw = saved(stack)
    brought_back(raw, other_home, empty_database_url)
    place = raw.index(b"PGDMP")
    broken = raw[: place + 200] + b"\xff" * 4000 + raw[place + 4200 :]
    from habakkuk.ops.backup import BackupFailed

    with pytest.raises(BackupFailed, match="pg_restore"):
        brought_back(broken, other_home, empty_database_url, replace=True)
    assert current_revision(empty_database_url) == expected_revision()
    assert (other_home / "config.yaml").exists()


def plus(raw: bytes, name: str) -> bytes:
    """Return a backup with one more file."""
    out = io.BytesIO(raw)
    with tarfile.open(fileobj=out, mode="a") as tar:
        info = tarfile.TarInfo(name)
        info.size = 1
        tar.addfile(info, io.BytesIO(b"x"))
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["else", "home/.env", "home/run.json", "home/.scratch-1/x", "home/postgresql/x", "home"]
)
def test_what_no_backup_holds_is_refused(
    stack: Stack, other_home: Path, empty_database_url: str, name: str
) -> None:
    with pytest.raises(Invalid, match="not its own"):
        brought_back(plus(saved(stack), name), other_home, empty_database_url)
    assert current_revision(empty_database_url) is None


@pytest.mark.parametrize("raw", [b"", b"hello", b"\x00" * 10_240])
def test_what_is_no_backup_is_said(other_home: Path, empty_database_url: str, raw: bytes) -> None:
    with pytest.raises(Invalid, match="no backup of Habakkuk"):
        brought_back(raw, other_home, empty_database_url)


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    target = tmp_path / "b.tar"
    with pytest.raises(ZeroDivisionError), whole_file(target) as out:
        out.write(b"half" * (1 // 0))
    assert not [path for path in tmp_path.iterdir() if path.is_file()]
    with whole_file(target) as out:
        out.write(b"all")
        assert not target.exists()
    assert target.read_bytes() == b"all"
    assert target.stat().st_mode & 0o777 == 0o600
    with pytest.raises(Conflict, match="exists already"), whole_file(target) as out:
        out.write(b"other")
    assert target.read_bytes() == b"all"


def test_a_pg_dump_older_than_the_server_is_named_with_both_versions() -> None:
    with pytest.raises(ConfigurationError) as caught:
        find_client("pg_dump", 99)
    assert "PostgreSQL 99 or later" in str(caught.value)
    assert "is version 18" in str(caught.value)
    assert "postgresql-client-99" in str(caught.value)
