"""The schema comes from the migrations alone (blueprint §12)."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from pytest_alembic.config import Config as AlembicConfig
from pytest_alembic.tests import (
    test_model_definitions_match_ddl,
    test_single_head_revision,
    test_up_down_consistency,
    test_upgrade,
)
from sqlalchemy import Engine, create_engine, text

from habakkuk.db.migrate import migrate
from habakkuk.db.revision import current_revision, expected_revision
from tests.fakes.stack import until

__all__ = [
    "test_model_definitions_match_ddl",
    "test_single_head_revision",
    "test_up_down_consistency",
    "test_upgrade",
]
ROOT = Path(__file__).parents[3]
INI = ROOT / "migrations" / "alembic.ini"
_MIGRATE = "import sys; from habakkuk.db.migrate import migrate; migrate(sys.argv[1])"


@pytest.fixture
def alembic_config() -> AlembicConfig:
    return AlembicConfig(config_options={"file": str(INI)})


@pytest.fixture
def alembic_engine(empty_database_url: str) -> Iterator[Engine]:
    engine = create_engine(empty_database_url)
    yield engine
    engine.dispose()


def tables(url: str) -> set[str]:
    engine = create_engine(url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(
                text("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
            )
            return {row[0] for row in rows}
    finally:
        engine.dispose()


def test_an_empty_database_gets_this_codes_schema(empty_database_url: str) -> None:
    assert current_revision(empty_database_url) is None
    assert migrate(empty_database_url) == expected_revision()
    assert current_revision(empty_database_url) == expected_revision()
    assert {"jobs", "turns", "chat_messages", "messages"} <= tables(empty_database_url)


def test_a_second_run_changes_nothing(empty_database_url: str) -> None:
    migrate(empty_database_url)
    engine = create_engine(empty_database_url)
    with engine.begin() as connection:
        connection.execute(text("INSERT INTO users (id, name, role) VALUES ('u', 'u', 'owner')"))
    migrate(empty_database_url)
    with engine.begin() as connection:
        assert connection.execute(text("SELECT count(*) FROM users")).scalar_one() == 1
    engine.dispose()


def test_a_way_down_leaves_nothing(empty_database_url: str) -> None:
    migrate(empty_database_url)
    config = Config(str(INI))
    config.set_main_option("sqlalchemy.url", empty_database_url)
    command.downgrade(config, "base")
    assert tables(empty_database_url) == {"alembic_version"}


def test_two_migrators_at_once_apply_it_once(empty_database_url: str) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", _MIGRATE, empty_database_url], cwd=ROOT)
        for _ in range(2)
    ]
    assert [child.wait(100) for child in children] == [0, 0]
    assert current_revision(empty_database_url) == expected_revision()


def test_a_kill_in_the_middle_leaves_the_old_schema_and_the_next_run_works(
    empty_database_url: str,
) -> None:
    """K79. The migration is held at its last table by a lock, and killed there."""
    engine = create_engine(empty_database_url)
    blocker = engine.connect()
    # A table of the same name, not yet committed: CREATE TABLE waits for its fate.
    blocker.execute(text("CREATE TABLE turns (id int)"))
    child = subprocess.Popen([sys.executable, "-c", _MIGRATE, empty_database_url], cwd=ROOT)
    waiting = text(
        "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        " AND datname = current_database()"
    )
    try:
        # In one transaction the view would show the same moment again and again.
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as looking:
            until(lambda: looking.execute(waiting).all(), 60)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    blocker.rollback()
    blocker.close()
    engine.dispose()
    assert tables(empty_database_url) == set()
    assert migrate(empty_database_url) == expected_revision()


def test_a_migrator_waits_for_the_one_before_it(empty_database_url: str) -> None:
    engine = create_engine(empty_database_url)
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(7778, 1)"))
        done = threading.Event()

        def run() -> None:
            migrate(empty_database_url)
            done.set()

        thread = threading.Thread(target=run)
        thread.start()
        waiting = text("SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        with engine.connect() as looking:
            until(lambda: looking.execute(waiting).all())
        assert not done.is_set()
    thread.join(60)
    assert done.is_set()
    engine.dispose()


def sql() -> str:
    out = io.StringIO()
    command.upgrade(Config(str(INI), output_buffer=out), "head", sql=True)
    return out.getvalue()


def test_the_sql_can_be_read_without_a_database() -> None:
    assert "CREATE TABLE jobs" in sql()
    assert f"VALUES ('{expected_revision()}')" in sql()


def test_the_sql_is_what_a_linter_of_migrations_lets_pass(tmp_path: Path) -> None:
    squawk = Path(sys.executable).with_name("squawk")
    if not squawk.exists() and shutil.which("squawk") is None:
        pytest.skip("squawk is not installed; the checks run it")
    file = tmp_path / "up.sql"
    file.write_text(sql())
    # The migrator sets the timeouts and one transaction holds it all; IF NOT EXISTS would hide a
    # table that is not ours. Our smallint is a priority; the varchar is in alembic's own table.
    excluded = (
        "prefer-robust-stmts,require-timeout-settings,prefer-bigint-over-int,"
        "prefer-bigint-over-smallint,prefer-text-field"
    )
    done = subprocess.run(
        [str(squawk), f"--exclude={excluded}", str(file)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_an_address_alembic_says_what_to_set() -> None:
    from habakkuk.core.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="DATABASE_URL is not set"):
        command.current(Config(str(INI)))


def test_alembic_by_hand_takes_the_address_of_the_environment(
    empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    command.upgrade(Config(str(INI)), "head")
    assert current_revision(empty_database_url) == expected_revision()
