"""The gate before a real server that freezes, dies and comes back."""

from __future__ import annotations

import threading
import time

import pytest

from habakkuk.core.redis import RedisAway, RedisGate, blocking_client
from tests.servers import ValkeyServer


def test_a_frozen_server_costs_once_and_nothing_then(redis_server: ValkeyServer) -> None:
    gate = RedisGate(redis_server.url())
    assert not gate.ping_away()
    redis_server.freeze()
    began = time.monotonic()
    assert gate.ping_away()
    first = time.monotonic() - began
    began = time.monotonic()
    for _ in range(1000):
        with pytest.raises(RedisAway):
            gate.call(lambda client: client.ping())
    # The figures are the contract: half a second once (blueprint §10), nothing while it is open.
    assert 0.4 < first < 1.0
    assert time.monotonic() - began < 0.5
    redis_server.thaw()
    gate.close()


def test_a_server_that_is_not_there_is_away_at_once(redis_server: ValkeyServer) -> None:
    redis_server.stop()
    gate = RedisGate(redis_server.url())
    assert gate.ping_away()
    assert gate.away
    gate.close()


def test_a_blocking_read_waits_longer_than_a_command_may(redis_server: ValkeyServer) -> None:
    gate = RedisGate(redis_server.url())
    reader, got = gate.blocking(), list[object]()
    thread = threading.Thread(target=lambda: got.append(reader.blpop(["queue"], timeout=0)))
    thread.start()
    thread.join(1.0)
    assert thread.is_alive()
    gate.call(lambda client: client.rpush("queue", "word"))
    thread.join(10)
    assert list(got[0]) == ["queue", "word"]  # type: ignore[call-overload] # - redis types no rows
    reader.close()
    gate.close()


def test_a_blocking_client_of_a_socket_has_no_keepalive() -> None:
    client = blocking_client("unix:///nowhere/valkey.sock")
    assert "socket_keepalive" not in client.connection_pool.connection_kwargs
    client.close()
