"""Row 11: nobody is let in for where they come from, and nobody says where that is."""

from __future__ import annotations

from pathlib import Path

from tests.security.door import Served, serving

_CLAIMS = (
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Real-IP": "127.0.0.1"},
    {"Forwarded": "for=127.0.0.1;proto=https;host=localhost"},
    {"X-Forwarded-User": "owner"},
    {"X-Remote-User": "owner"},
    {"Remote-User": "owner"},
)


def test_loopback_is_no_credential(served: Served) -> None:
    client = served.new_client(None)
    for headers in ({}, *_CLAIMS):
        for path in ("/api/chat", "/v1/models", "/openapi.json", "/"):
            assert client.get(path, headers=headers).status_code == 401, headers


def guess(served: Served, number: int) -> int:
    """Try a wrong token, saying to come from somewhere new."""
    client = served.clients[0]
    headers = {"Authorization": f"Bearer {number}", "X-Forwarded-For": f"198.51.100.{number}"}
    return client.get("/api/chat", headers=headers).status_code


def test_a_claimed_address_does_not_begin_a_new_count(served: Served) -> None:
    assert [guess(served, n) for n in range(31)] == [401] * 30 + [429]


def test_behind_a_trusted_proxy_its_word_counts_and_no_further(
    home: Path, database_url: str, redis_url: str
) -> None:
    """The proxy appends what it saw to what the client claimed."""
    with serving(home, database_url, redis_url, "trusted_proxies: 1") as served:
        client = served.new_client(None)

        def claimed(number: int, seen: str) -> int:
            headers = {
                "Authorization": f"Bearer {number}",
                "X-Forwarded-For": f"203.0.113.{number}, {seen}",
            }
            return client.get("/api/chat", headers=headers).status_code

        assert [claimed(n, "198.51.100.7") for n in range(31)] == [401] * 30 + [429]
        assert claimed(32, "198.51.100.8") == 401
