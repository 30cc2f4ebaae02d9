from __future__ import annotations

import threading

import pytest

from habakkuk.db.engine import DatabaseAway
from habakkuk.jobs import loop as module
from habakkuk.jobs.loop import Loop


@pytest.mark.parametrize("error", [DatabaseAway("gone"), ValueError("bug")])
def test_a_failure_does_not_end_the_loop(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AFTER_FAILURE_SECONDS", 0.0)
    calls: list[int] = []
    again = threading.Event()

    def act() -> float:
        calls.append(1)
        if len(calls) == 1:
            raise error
        again.set()
        return 60.0

    loop = Loop("test", act)
    loop.start()
    assert again.wait(5)
    loop.stop()


def test_a_kick_ends_the_pause() -> None:
    called = threading.Semaphore(0)

    def act() -> float:
        called.release()
        return 60.0

    loop = Loop("test", act)
    loop.start()
    assert called.acquire(timeout=5)
    loop.kick()
    assert called.acquire(timeout=5)
    loop.stop()


def test_a_stop_ends_the_pause_and_the_thread() -> None:
    called = threading.Event()

    def act() -> float:
        called.set()
        return 60.0

    loop = Loop("test", act)
    loop.start()
    assert called.wait(5)
    loop.stop()
    assert loop.stopping
    assert "test" not in [thread.name for thread in threading.enumerate()]


def test_a_loop_can_stop_itself() -> None:
    calls: list[int] = []
    done = threading.Event()

    def act() -> float:
        calls.append(1)
        loop.stop()
        done.set()
        return 0.0

    loop = Loop("test", act)
    loop.start()
    assert done.wait(5)
    loop.stop()
    assert calls == [1]
