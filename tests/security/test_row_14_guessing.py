"""Row 14: failures are counted before the check, per source and together, by all processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from habakkuk.core.clock import Clock
from habakkuk.core.redis import RedisGate
from tests.security.door import Browser, Served, serving
from tests.servers import ValkeyServer
from web.errors import Refused
from web.throttle import Throttle


def refused(throttle: Throttle, source: str, secret: str) -> bool:
    try:
        throttle.failed(throttle.attempt(source, secret))
    except Refused as refusal:
        return refusal.status == 429
    return False


def test_wrong_links_are_held_up_and_the_right_one_with_them(browser: Browser) -> None:
    parts = browser.served.stack.container
    link = parts.logins.make_link(parts.accounts.owner())
    statuses = [browser.follow(f"wrong {n}").status_code for n in range(31)]
    assert statuses == [401] * 30 + [429]
    answer = browser.follow(link)
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "60"
    assert parts.logins.by_link(link) is not None


def test_passwords_and_links_are_counted_together(browser: Browser) -> None:
    for n in range(15):
        browser.follow(f"wrong {n}")
        browser.post("/api/login/password", {"name": "owner", "password": f"wrong {n}"})
    assert browser.follow("one more").status_code == 429


def test_many_guesses_at_once_do_not_slip_through(served: Served) -> None:
    client = served.new_client(None)

    def guess(n: int) -> int:
        headers = {"Authorization": f"Bearer {n}"}
        return client.get("/api/chat", headers=headers).status_code

    with ThreadPoolExecutor(16) as threads:
        statuses = list(threads.map(guess, range(64)))
    assert statuses.count(401) == 30
    assert statuses.count(429) == 34


def test_whoever_is_signed_in_is_not_held_up(served: Served, browser: Browser) -> None:
    browser.sign_in()
    stranger = served.new_client(None)
    for n in range(40):
        stranger.get("/api/chat", headers={"Authorization": f"Bearer {n}"})
    assert browser.client.get("/api/chat").status_code == 200
    assert browser.post("/api/chat", {"conversation": "c", "text": "hi"}).status_code == 202


def test_wrong_sessions_are_counted_too(served: Served) -> None:
    client = served.new_client(None)
    statuses = [
        client.get("/api/chat", headers={"Cookie": f"habakkuk_8484={n}"}).status_code
        for n in range(31)
    ]
    assert statuses == [401] * 30 + [429]


def test_processes_count_together(redis_url: str) -> None:
    one, two = (Throttle(Clock(), RedisGate(redis_url)) for _ in range(2))
    # Of one minute of the clock: which may turn meanwhile, so that one of two minutes is full.
    seen = [refused(one if n % 2 else two, "198.51.100.7", f"wrong {n}") for n in range(59 + 31)]
    assert any(seen)
    assert seen.index(True) >= 30


def test_good_secrets_are_not_counted_anywhere(redis_url: str) -> None:
    one, two = (Throttle(Clock(), RedisGate(redis_url)) for _ in range(2))
    for n in range(100):
        throttle = one if n % 2 else two
        throttle.succeeded(throttle.attempt("198.51.100.7", f"good {n}"))
    assert not refused(one, "198.51.100.7", "wrong")


def test_a_process_that_dies_amid_good_requests_leaves_no_guesses(redis_url: str) -> None:
    """A platform would be shut out whose signatures were never wrong."""
    for n in range(40):
        Throttle(Clock(), RedisGate(redis_url)).attempt("198.51.100.7", f"in flight {n}")
    assert not refused(Throttle(Clock(), RedisGate(redis_url)), "198.51.100.7", "good")


def test_without_redis_each_process_counts_for_itself(redis_server: ValkeyServer) -> None:
    throttle = Throttle(Clock(), RedisGate(redis_server.url()))
    redis_server.kill()
    seen = [refused(throttle, "198.51.100.7", f"wrong {n}") for n in range(31)]
    assert seen == [False] * 30 + [True]


def test_a_database_that_is_away_is_nobodys_guess(
    home: Path, database_url: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from habakkuk.db.engine import DatabaseAway

    with serving(home, database_url, redis_url) as served:
        browser = Browser(served)
        with monkeypatch.context() as away:

            def fail(*_: object) -> None:
                raise DatabaseAway("gone")

            away.setattr("habakkuk.accounts.logins.Logins.by_link", fail)
            for n in range(40):
                assert browser.follow(f"link {n}").status_code == 503
        browser.sign_in()
