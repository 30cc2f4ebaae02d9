"""The servers that the other tests stand on."""

from __future__ import annotations

import psycopg2
import pytest
import redis

from tests.servers import PostgresServer, ValkeyServer, plain_url


def rows(url: str, statement: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(plain_url(url))
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
    finally:
        connection.close()


@pytest.mark.parametrize("turn", [1, 2])
def test_the_database_is_migrated_and_empty_in_every_test(database_url: str, turn: int) -> None:
    assert rows(database_url, "SELECT count(*) FROM users") == [(0,)]
    rows(database_url, "INSERT INTO users (id, name, role) VALUES ('u', 'x', 'owner')")


@pytest.mark.parametrize("turn", [1, 2])
def test_redis_is_empty_in_every_test(redis_url: str, turn: int) -> None:
    client = redis.Redis.from_url(redis_url)
    assert client.dbsize() == 0
    client.set("left", "behind")
    client.close()


def test_a_fresh_database_is_not_the_shared_one(database_url: str, fresh_database_url: str) -> None:
    assert database_url != fresh_database_url
    assert rows(fresh_database_url, "SELECT count(*) FROM jobs") == [(0,)]


def test_an_empty_database_has_no_schema(empty_database_url: str) -> None:
    assert rows(empty_database_url, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_crashed_postgres_keeps_what_was_committed(postgres_server: PostgresServer) -> None:
    url = postgres_server.url("postgres")
    rows(url, "CREATE TABLE kept AS SELECT 1 AS n")
    postgres_server.kill()
    postgres_server.start()
    assert rows(url, "SELECT n FROM kept") == [(1,)]


def test_a_frozen_redis_answers_again_when_thawed(redis_server: ValkeyServer) -> None:
    redis_server.freeze()
    assert not redis_server.answers()
    redis_server.thaw()
    assert redis_server.answers()
