"""What is said while a server is away, and while the database has no tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.bootstrap import Container, build
from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import load_settings
from habakkuk.db.migrate import migrate
from tests.servers import PostgresServer
from web.application import application


@pytest.fixture
def container(home: Path, postgres_server: PostgresServer, redis_url: str) -> Iterator[Container]:
    environment = read_environment(
        {
            "HABAKKUK_HOME": str(home),
            "DATABASE_URL": postgres_server.url("postgres"),
            "REDIS_URL": redis_url,
        }
    )
    made = build(load_settings(environment), name="test")
    yield made
    made.close()


def test_a_database_without_tables_is_named_until_it_is_migrated(container: Container) -> None:
    client = application(container).test_client()
    health = client.get("/healthz").get_json()
    assert health["degraded"] == ["schema"]
    assert "habakkuk migrate" in health["reason"]
    answer = client.get("/api/chat", headers={"Authorization": "Bearer hab_x"})
    assert answer.status_code == 503
    assert "habakkuk migrate" in answer.get_json()["error"]["message"]
    assert answer.headers["Retry-After"]
    url = container.settings.database_url
    assert url is not None
    migrate(url)
    fresh = application(container).test_client()
    assert fresh.get("/healthz").get_json() == {"status": "ok", "degraded": []}
    assert fresh.get("/api/chat", headers={"Authorization": "Bearer hab_x"}).status_code == 401


def test_without_postgresql_requests_are_told_to_come_back(
    container: Container, postgres_server: PostgresServer
) -> None:
    url = container.settings.database_url
    assert url is not None
    migrate(url)
    client = application(container).test_client()
    token = container.accounts.create_token("t")
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/chat", headers=headers).status_code == 200
    postgres_server.kill()
    for _ in range(40):
        answer = client.post(
            "/api/chat", json={"conversation": "c", "text": "hello"}, headers=headers
        )
        assert answer.status_code == 503
        assert answer.headers["Retry-After"]
    health = client.get("/healthz")
    assert (health.status_code, health.get_json()["status"]) == (503, "down")
    assert health.get_json()["degraded"] == ["postgresql"]
    postgres_server.start()
    assert client.get("/api/chat", headers=headers).status_code == 200
