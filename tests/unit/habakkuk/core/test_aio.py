"""The bridge to what knows only asyncio."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from habakkuk.core.aio import Portal
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason


async def _loop_and_thread() -> tuple[int, str]:
    return id(asyncio.get_running_loop()), threading.current_thread().name


async def _fails() -> None:
    raise LookupError("its own")


class _Sleeper:
    """Sleeps until it is cancelled."""

    def __init__(self) -> None:
        self.asleep = threading.Event()
        self.cancelled = threading.Event()

    async def sleep(self) -> None:
        self.asleep.set()
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


def test_all_run_on_one_loop_in_a_thread_of_its_own() -> None:
    portal = Portal()
    seen = {portal.run(_loop_and_thread(), Interrupt(), 10) for _ in range(3)}
    assert len(seen) == 1
    assert seen.pop()[1] == "asyncio"


def test_what_is_raised_comes_back() -> None:
    with pytest.raises(LookupError, match="its own"):
        Portal().run(_fails(), Interrupt(), 10)


def test_a_deadline_ends_it() -> None:
    sleeper = _Sleeper()
    with pytest.raises(TimeoutError):
        Portal().run(sleeper.sleep(), Interrupt(), 0.05)
    assert sleeper.cancelled.wait(10)


def test_an_interrupt_ends_it_at_once() -> None:
    sleeper, interrupt = _Sleeper(), Interrupt()

    def trip() -> None:
        sleeper.asleep.wait(10)
        interrupt.trip(Reason.STOPPING)

    tripping = threading.Thread(target=trip)
    tripping.start()
    with pytest.raises(Interrupted):
        Portal().run(sleeper.sleep(), interrupt, 3600)
    tripping.join()
    assert sleeper.cancelled.wait(10)


def test_what_is_interrupted_already_does_not_wait() -> None:
    interrupt = Interrupt()
    interrupt.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        Portal().run(_Sleeper().sleep(), interrupt, 3600)


def test_what_is_left_runs_to_its_end() -> None:
    done = threading.Event()

    async def finish() -> None:
        done.set()

    Portal().leave(finish())
    assert done.wait(10)


_FORKED = """
import os
from habakkuk.core.aio import PORTAL
from habakkuk.core.interrupt import Interrupt

async def pid():
    return os.getpid()

assert PORTAL.run(pid(), Interrupt(), 10) == os.getpid()
child = os.fork()
if child == 0:
    os._exit(0 if PORTAL.run(pid(), Interrupt(), 10) == os.getpid() else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_gets_a_loop_of_its_own() -> None:
    done = subprocess.run([sys.executable, "-c", _FORKED], timeout=60, check=False)
    assert done.returncode == 0
