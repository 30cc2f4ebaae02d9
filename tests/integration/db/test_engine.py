"""Transactions, and what a missing server looks like."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg2
import pytest
from psycopg2 import IntegrityError, ProgrammingError
from sqlalchemy import text

from habakkuk.core.errors import Invalid, Unavailable
from habakkuk.db.engine import Database, DatabaseAway, DatabaseBusy
from habakkuk.db.listen import listening
from tests.fakes.stack import until
from tests.servers import PostgresServer

ADD = text("INSERT INTO users (id, name, role) VALUES (:id, :id, 'member')")
COUNT = text("SELECT count(*) FROM users")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=2, name="the name")
    yield pool
    pool.dispose()


def count(database: Database) -> int:
    return int(database.run(COUNT)[0][0])


def test_a_block_that_ends_is_committed_and_then_tells(database: Database) -> None:
    told: list[int] = []
    with database.transaction() as work:
        work.execute(ADD, id="a")
        work.after_commit(lambda: told.append(count(database)))
        assert told == []
    assert told == [1]


def test_a_block_that_fails_leaves_nothing_and_tells_nobody(database: Database) -> None:
    told: list[str] = []

    def fail() -> None:
        with database.transaction() as work:
            work.execute(ADD, id="a")
            work.after_commit(lambda: told.append("told"))
            raise ValueError("a fault")

    with pytest.raises(ValueError, match="a fault"):
        fail()
    assert (count(database), told) == (0, [])


def test_one_statement_is_its_own_transaction(database: Database) -> None:
    assert list(database.run(ADD, id="a")) == []
    assert count(database) == 1


def test_many_rows_go_in_together_and_none_is_fine(database: Database) -> None:
    with database.transaction() as work:
        work.execute_many(ADD, [])
        work.execute_many(ADD, [{"id": "a"}, {"id": "b"}])
    assert count(database) == 2


def test_our_own_faults_are_not_taken_for_a_missing_server(database: Database) -> None:
    database.run(ADD, id="a")
    with pytest.raises(IntegrityError):
        database.run(ADD, id="a")
    with pytest.raises(ProgrammingError):
        database.run(text("SELECT nothing"))


@pytest.mark.parametrize("name", ["a\x00b", "a\ud83d"])
def test_text_that_cannot_be_stored_is_the_askers_fault(database: Database, name: str) -> None:
    """Whoever forgets to clean an id gets a sentence for the person, not a fault of the server."""
    with pytest.raises(Invalid, match="cannot be stored"):
        database.run(ADD, id=name)
    with database.transaction() as work:
        with pytest.raises(Invalid, match="cannot be stored"):
            work.execute(ADD, id=name)
        with pytest.raises(Invalid, match="cannot be stored"):
            work.execute_many(ADD, [{"id": name}])


def test_the_server_knows_who_is_connected(database: Database) -> None:
    assert database.run(text("SELECT current_setting('application_name')"))[0][0] == "the name"
    beside = database.beside("beside")
    assert beside.run(text("SELECT current_setting('application_name')"))[0][0] == "beside"
    beside.dispose()


def test_the_server_ends_what_holds_locks_too_long(database: Database) -> None:
    names = ("lock_timeout", "statement_timeout", "idle_in_transaction_session_timeout")
    found = [database.run(text("SELECT current_setting(:n)"), n=name)[0][0] for name in names]
    assert found == ["5s", "30s", "10s"]


def test_a_connection_that_is_on_loan_when_the_pool_closes_is_closed_with_it(
    database: Database,
) -> None:
    pid = text("SELECT pg_backend_pid()")
    held = text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid")
    other = Database(database._url, pool_size=1)
    with other.transaction() as work:
        number = work.execute(pid)[0][0]
        other.dispose()
    until(lambda: not database.run(held, pid=number))


def test_a_busy_pool_is_said_as_unavailable(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(database_url, pool_size=1)
    monkeypatch.setattr(database._pool, "_timeout", 0.01)
    with database.transaction() as work:
        work.execute(COUNT)
        with pytest.raises(Unavailable) as caught:
            database.run(COUNT)
    assert "busy" in caught.value.detail  # type: ignore[attr-defined] # - DatabaseAway's
    database.dispose()


def test_a_lock_that_is_held_too_long_is_said_as_busy(database: Database) -> None:
    database.run(ADD, id="a")
    lock = text("SELECT 1 FROM users WHERE id = 'a' FOR UPDATE")

    def ask() -> None:
        with database.transaction() as work:
            work.execute(text("SET LOCAL lock_timeout = '10ms'"))
            work.execute(lock)

    with database.transaction() as holder:
        holder.execute(lock)
        with pytest.raises(DatabaseBusy, match="busy"):
            ask()
    ask()


def test_an_error_does_not_repeat_what_people_wrote(database: Database) -> None:
    again = text("INSERT INTO users (id, name, role) VALUES ('a', :words, 'member')")
    database.run(again, words="hush")
    with pytest.raises(IntegrityError) as caught:
        database.run(again, words="hush")
    assert "hush" not in str(caught.value)


def test_a_server_that_is_gone_is_away_and_comes_back_by_itself(
    postgres_server: PostgresServer,
) -> None:
    database = Database(postgres_server.url("postgres"), pool_size=2)
    database.run(text("CREATE TABLE t (n int)"))
    postgres_server.kill()
    with pytest.raises(DatabaseAway) as caught:
        database.run(text("SELECT 1"))
    assert str(caught.value) == "the database does not answer; try again in a few seconds"
    assert caught.value.detail
    with pytest.raises(DatabaseAway), database.transaction() as work:
        work.execute(COUNT)
    with pytest.raises(DatabaseAway):
        database.connect_alone("x")
    postgres_server.start()
    assert database.run(text("SELECT count(*) FROM t"))[0][0] == 0
    database.dispose()


def test_a_server_that_dies_in_a_transaction_is_away(postgres_server: PostgresServer) -> None:
    database = Database(postgres_server.url("postgres"))

    def work_on() -> None:
        with database.transaction() as work:
            work.execute(text("SELECT 1"))
            postgres_server.kill()
            work.execute(text("SELECT 1"))

    with pytest.raises(DatabaseAway):
        work_on()
    database.dispose()


def test_a_connection_that_an_operator_ended_is_replaced_unseen(database: Database) -> None:
    (row,) = database.run(text("SELECT pg_backend_pid() AS pid"))
    other = database.beside("operator")
    other.run(text("SELECT pg_terminate_backend(:pid)"), pid=row.pid)
    until(lambda: not other.run(text("SELECT 1 FROM pg_stat_activity WHERE pid = :p"), p=row.pid))
    assert database.run(text("SELECT 1"))[0][0] == 1
    other.dispose()


def test_notifications_are_heard(database: Database) -> None:
    with listening(database, "ear", "one", "t'wo\"") as ear:
        assert list(ear.wait(0)) == []
        database.run(text("SELECT pg_notify('one', 'a')"))
        database.run(text("SELECT pg_notify('unheard', 'b')"))
        database.run(text("SELECT pg_notify('t''wo\"', 'c')"))
        heard: list[tuple[str, str]] = []

        def both() -> bool:
            heard.extend(ear.wait(0.2))
            return len(heard) == 2

        until(both)
    assert heard == [("one", "a"), ("t'wo\"", "c")]


def test_a_broken_ear_says_that_the_server_is_away(postgres_server: PostgresServer) -> None:
    database = Database(postgres_server.url("postgres"))

    def listen() -> None:
        with listening(database, "ear", "one") as ear:
            threading.Thread(target=postgres_server.kill).start()
            while True:
                ear.wait(5)

    with pytest.raises(DatabaseAway):
        listen()
    database.dispose()


def test_a_lone_connection_keeps_the_urls_own_settings(database_url: str) -> None:
    database = Database(database_url)
    connection = database.connect_alone("alone")
    assert connection.autocommit
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('application_name')")
        assert cursor.fetchone() == ("alone",)
    connection.close()
    with pytest.raises(psycopg2.InterfaceError):
        connection.cursor()
