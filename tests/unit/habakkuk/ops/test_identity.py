"""A pid with its start names one process."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from habakkuk.ops.identity import ProcessIdentity, identify, own_identity


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def test_a_running_process_is_alive() -> None:
    assert own_identity().alive()


def test_a_pid_that_another_process_has_now_is_not_alive() -> None:
    assert not ProcessIdentity(os.getpid(), "another start").alive()


def test_an_unused_pid_has_no_identity() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert identify(process.pid) is None


def test_a_process_that_ended_but_was_not_reaped_is_not_alive(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    identity = identify(sleeper.pid)
    assert identity is not None

    os.kill(sleeper.pid, signal.SIGKILL)

    assert identity.wait(10)


def test_a_signal_reaches_the_process(sleeper: "subprocess.Popen[bytes]") -> None:
    identity = identify(sleeper.pid)
    assert identity is not None

    assert identity.send(signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM


def test_a_reused_pid_gets_no_signal(sleeper: "subprocess.Popen[bytes]") -> None:
    former = ProcessIdentity(sleeper.pid, "another start")

    assert not former.send(signal.SIGKILL)
    assert sleeper.poll() is None


def test_waiting_for_a_process_that_stays_ends_with_false(
    sleeper: "subprocess.Popen[bytes]",
) -> None:
    identity = identify(sleeper.pid)
    assert identity is not None

    assert not identity.wait(0.05)
