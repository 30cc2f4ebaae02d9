"""Programs that are run to their end: within their bounds, and killed as a group."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from habakkuk.core import programs
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.programs import Bounds, Done, Program, run, running

BOUNDS = Bounds(60.0, 1_000_000, 1_000_000)


def shell(script: str, folder: Path | None = None) -> Program:
    return Program(["/bin/sh", "-c", script], {"PATH": "/usr/bin:/bin"}, folder)


def ended(script: str, bounds: Bounds = BOUNDS, given: bytes = b"") -> Done:
    return run(shell(script), bounds, Interrupt(), given)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def pid_in(path: Path) -> int:
    until(lambda: path.exists() and path.read_text().strip())
    return int(path.read_text())


def test_output_errors_and_code_come_apart() -> None:
    done = ended("echo out; echo err >&2; exit 3")
    assert done == Done(3, b"out\n", b"err\n", late=False, full=False)


def test_a_signal_is_a_negative_code() -> None:
    assert ended("kill -SEGV $$").code == -signal.SIGSEGV


def test_what_it_is_given_is_its_input_and_without_that_it_has_none() -> None:
    assert ended("cat", given=b"x" * 300_000).output == b"x" * 300_000
    assert ended("cat").output == b""


def test_both_pipes_are_read_at_once() -> None:
    filling = "head -c 700000 /dev/zero"
    done = ended(f"{filling} >&2; {filling}; {filling} >&2", Bounds(60.0, 700_000, 1_400_000))
    assert (len(done.output), len(done.errors), done.full) == (700_000, 1_400_000, False)


def test_errors_that_are_not_kept_go_nowhere() -> None:
    done = ended("head -c 700000 /dev/zero >&2", Bounds(60.0, 10))
    assert (done.code, done.errors, done.full) == (0, b"", False)


def test_its_environment_is_what_it_is_given() -> None:
    program = Program(["/usr/bin/env"], {"A": "b"})
    assert run(program, BOUNDS, Interrupt()).output == b"A=b\n"


def test_it_starts_in_its_folder(tmp_path: Path) -> None:
    assert run(shell("pwd", tmp_path), BOUNDS, Interrupt()).output.decode() == f"{tmp_path}\n"


def test_one_that_prints_more_than_is_kept_is_killed() -> None:
    done = ended("yes", Bounds(60.0, 100_000))
    assert (len(done.output), done.full, done.late) == (100_000, True, False)


def test_one_that_is_not_held_to_it_goes_on() -> None:
    done = ended("head -c 3000000 /dev/zero; exit 5", Bounds(60.0, 100, held=False))
    assert (done.code, done.output, done.full) == (5, b"\0" * 100, True)


def test_the_end_of_its_time_kills_all_of_its_group(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    done = ended(f"trap '' TERM; sleep 600 & echo $! > {pid}; echo begun; wait", Bounds(0.5, 100))
    assert (done.code, done.late, done.output) == (-signal.SIGKILL, True, b"begun\n")
    until(lambda: not psutil.pid_exists(int(pid.read_text())) or _is_dead(int(pid.read_text())))


def test_one_that_went_to_another_group_is_killed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As it can where it stays in the session of a worker that stepped back."""
    monkeypatch.setattr(programs, "stepped_back", lambda _niceness: True)
    script = "import os, time; os.setpgid(0, os.getpgid(os.getppid())); time.sleep(20)"
    program = Program([sys.executable, "-I", "-S", "-c", script])
    done = run(program, Bounds(2.0, 100), Interrupt())
    assert (done.code, done.late) == (-signal.SIGKILL, True)


def _is_dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_one_that_closed_its_output_is_waited_for() -> None:
    assert ended("exec >&- 2>&-; sleep 0.1; exit 4").code == 4


@pytest.mark.parametrize("left", ["sleep 600", "yes"])
def test_what_it_leaves_is_not_waited_for_and_lives_on(tmp_path: Path, left: str) -> None:
    pid = tmp_path / "pid"
    done = ended(f"echo said; {left} & echo $! > {pid}; exit 0", Bounds(60.0, 100, held=False))
    assert (done.code, done.output[:5]) == (0, b"said\n")
    child = psutil.Process(int(pid.read_text()))
    # `yes` has nobody to talk to any more, and ends by itself.
    assert left == "yes" or child.is_running()
    if child.is_running():
        child.kill()


def test_an_interrupt_kills_all_of_its_group(tmp_path: Path) -> None:
    pid, interrupt = tmp_path / "pid", Interrupt()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            run(shell(f"sleep 600 & echo $! > {pid}; wait"), BOUNDS, interrupt)
        except Interrupted as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    child = pid_in(pid)
    interrupt.trip(Reason.CANCELLED)
    thread.join(30)
    assert [type(one) for one in failures] == [Interrupted]
    until(lambda: _is_dead(child))


@pytest.mark.parametrize("argv", [["/no/such/program"], ["/bin/sh", "-c", "\0"], ["/etc/passwd"]])
def test_one_that_cannot_be_started_is_an_error(argv: list[str]) -> None:
    with pytest.raises((OSError, ValueError)):
        run(Program(argv), BOUNDS, Interrupt())


def test_without_a_thread_to_watch_its_time_nothing_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    pid = tmp_path / "pid"
    with pytest.raises(OSError, match="can't start new thread"):
        run(shell(f"echo $$ > {pid}; exec sleep 600"), BOUNDS, Interrupt())
    told = pid.read_text() if pid.exists() else ""
    assert not told or _is_dead(int(told))


def test_it_can_be_spoken_with_line_by_line() -> None:
    echo = "while read line; do echo said $line; done"
    with running(shell(echo), 60.0, Interrupt()) as begun:
        for word in (b"one", b"two"):
            begun.say(word + b"\n")
            assert begun.line(100) == b"said " + word + b"\n"
    assert begun.process.returncode is not None


@pytest.mark.parametrize("ending", ["time", "interrupt"])
def test_who_waits_for_its_line_is_freed(ending: str) -> None:
    interrupt, seconds = Interrupt(), 60.0 if ending == "interrupt" else 0.3
    with running(shell("echo a; exec sleep 600"), seconds, interrupt) as begun:
        assert begun.line(100) == b"a\n"
        if ending == "interrupt":
            threading.Timer(0.1, interrupt.trip, (Reason.CANCELLED,)).start()
        assert begun.line(100) == b""
    assert begun.late is (ending == "time")


def test_one_that_reads_nothing_frees_its_writer_with_its_time() -> None:
    with (
        running(shell("exec sleep 600"), 0.3, Interrupt()) as begun,
        pytest.raises(BrokenPipeError),
    ):
        begun.say(b"x" * 1_000_000)


def test_no_descriptor_is_left_open() -> None:
    ended("cat", given=b"x")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        ended("cat", given=b"x")
    assert len(list(Path("/proc/self/fd").iterdir())) == before
