"""Readers in a process of their own: whatever becomes of one is a reason, within its call."""

from __future__ import annotations

import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.core.programs import Bounds
from habakkuk.core.readers import NoAnswer, NotStarted, Readers

# Between a wish to end and the end (issue: within 2 s).
END_SECONDS = 2.0
HANGING = """
    import os, signal, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with open(f"{__file__}.{os.getpid()}.pid", "w") as out:
        out.write(str(os.getpid()))
    time.sleep(600)
"""


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


def readers(
    tmp_path: Path, text: str, seconds: float = 60.0, at_once: int | None = None
) -> Readers:
    return Readers(program(tmp_path, text), Bounds(seconds, 1_000_000), at_once)


def pids(tmp_path: Path, count: int) -> list[int]:
    """Return the numbers of so many programs that hang, once they do."""
    deadline = time.monotonic() + 20
    while True:
        found = [path.read_text() for path in tmp_path.glob("*.pid")]
        if len(list(filter(None, found))) == count:
            return [int(one) for one in found]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_order_and_what_is_read_reach_it(tmp_path: Path) -> None:
    text = "import sys; print(sys.argv[1], sys.stdin.read(), end='')"
    answer = readers(tmp_path, text).ask({"pages": "1"}, b"the bytes", Interrupt())
    assert answer == b'{"pages": "1"} the bytes'


def test_it_has_no_variables_of_ours(tmp_path: Path) -> None:
    text = "import os; print(sorted(set(os.environ) - {'LC_CTYPE'}), end='')"
    assert readers(tmp_path, text).ask({}, b"", Interrupt()) == b"[]"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "it is damaged, or takes too"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "it takes too long to read"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGALRM)", "it takes too long to read"),
        ("raise SystemExit(3)", "it is damaged, or takes too"),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", "its reader broke off"),
    ],
    ids=["crash", "processor", "alarm", "code", "endless"],
)
def test_whatever_becomes_of_it_is_a_reason(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        readers(tmp_path, text).ask({}, b"x", Interrupt())


def test_it_has_so_long_and_no_longer(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="it takes too long to read"):
        readers(tmp_path, HANGING, seconds=0.2).ask({}, b"x", Interrupt())


def test_one_that_cannot_be_started_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/no/such/program")
    with pytest.raises(NotStarted, match="its reader could not be started"):
        readers(tmp_path, "").ask({}, b"x", Interrupt())


def _asked(asking: Readers, interrupt: Interrupt, failures: list[BaseException]) -> None:
    try:
        asking.ask({}, b"x", interrupt)
    except Interrupted as error:
        failures.append(error)


def test_an_interrupt_kills_it(tmp_path: Path) -> None:
    interrupt, failures = Interrupt(), list[BaseException]()
    arguments = (readers(tmp_path, HANGING), interrupt, failures)
    thread = threading.Thread(target=_asked, args=arguments)
    thread.start()
    (pid,) = pids(tmp_path, 1)
    interrupt.trip(Reason.CANCELLED)
    thread.join(END_SECONDS)
    assert not thread.is_alive()
    assert len(failures) == 1
    assert not psutil.pid_exists(pid)


def test_who_waits_for_others_can_be_interrupted(tmp_path: Path) -> None:
    asking = readers(tmp_path, HANGING, at_once=2)
    others, own = Interrupt(), Interrupt()
    threads = [threading.Thread(target=_asked, args=(asking, others, [])) for _ in range(2)]
    for thread in threads:
        thread.start()
    pids(tmp_path, 2)
    own.trip(Reason.CANCELLED)
    with pytest.raises(Interrupted):
        asking.ask({}, b"x", own)
    assert len(pids(tmp_path, 2)) == 2
    others.trip(Reason.CANCELLED)
    for thread in threads:
        thread.join(20)
