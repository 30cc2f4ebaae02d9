"""The supervisor with real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.ops.child import Child
from habakkuk.ops.home import HomeFolder
from habakkuk.ops.identity import ProcessIdentity, identify
from habakkuk.ops.processes import ProcessSpec
from habakkuk.ops.stop import StopSignal
from habakkuk.ops.supervisor import Patience, Supervisor

QUICK = Patience(first_delay=0.05, longest_delay=0.2, healthy_after=30, stop_within=5)
WAITS = "import time\ntime.sleep(60)\n"
# Says when its end is asked for, then ends.
POLITE = """
import pathlib, signal, sys, time
def end(*_):
    with open({path!r}, "a") as out:
        out.write({name!r} + "\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
time.sleep(60)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("up", flush=True)
while True: time.sleep(60)
"""


def until(condition: Callable[[], object], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("it did not happen")
        time.sleep(0.01)


class Stage:
    """A supervisor over real children, driven by hand."""

    def __init__(self, folder: Path, patience: Patience = QUICK) -> None:
        self.home = HomeFolder(folder)
        self.home.logs.mkdir()
        self.said: list[str] = []
        self.stop = StopSignal()
        self.supervisor = Supervisor(self.stop, self.said.append, patience=patience)

    def child(self, name: str, program: str) -> Child:
        spec = ProcessSpec(name, (sys.executable, "-c", program))
        return Child(spec, dict(read_environment().process), self.home.log(name))

    def says(self, name: str, text: str) -> bool:
        log = self.home.log(name)
        return log.exists() and text in log.read_text()

    def look_until(self, condition: Callable[[], object]) -> None:
        def look() -> bool:
            self.supervisor.look()
            return bool(condition())

        until(look)


@pytest.fixture
def stage(home: Path) -> Iterator[Stage]:
    made = Stage(home)
    yield made
    made.supervisor.end_all()
    made.stop.close()


def test_a_crashed_child_is_started_again_and_named(stage: Stage) -> None:
    child = stage.child("web", "print('the reason', flush=True); raise SystemExit(7)")
    stage.supervisor.start([child])

    stage.look_until(lambda: stage.home.log("web").read_text().count("the reason") == 2)

    assert "web ended with exit code 7; starting it again in 0.05 s" in stage.said[0]
    assert stage.said[1] == "    the reason"


def test_a_killed_child_is_named_with_its_signal(stage: Stage) -> None:
    child = stage.child("worker-1", WAITS)
    stage.supervisor.start([child])
    first = child.identity
    assert first is not None

    first.send(signal.SIGKILL)
    stage.look_until(lambda: child.identity not in {None, first})

    assert "worker-1 was killed by SIGKILL" in stage.said[0]


def test_the_delay_doubles_up_to_its_limit(stage: Stage) -> None:
    stage.supervisor.start([stage.child("web", "raise SystemExit(1)")])

    stage.look_until(lambda: len([line for line in stage.said if "again" in line]) == 5)

    delays = [
        line.partition("again in ")[2].split(" s")[0] for line in stage.said if "again" in line
    ]
    assert delays == ["0.05", "0.1", "0.2", "0.2", "0.2"]


def test_a_healthy_while_resets_the_delay(home: Path) -> None:
    stage = Stage(home, Patience(first_delay=0.05, longest_delay=1, healthy_after=0))
    stage.supervisor.start([stage.child("web", "raise SystemExit(1)")])

    stage.look_until(lambda: len([line for line in stage.said if "again" in line]) == 3)

    assert all("again in 0.05 s" in line for line in stage.said if "again" in line)
    stage.supervisor.end_all()


def test_stages_end_last_to_first(stage: Stage, home: Path) -> None:
    ends = str(home / "ends")
    for name in ("first", "second"):
        stage.supervisor.start([stage.child(name, POLITE.format(path=ends, name=name))])
    until(lambda: stage.says("first", "up") and stage.says("second", "up"))

    killed = stage.supervisor.end_all()

    assert Path(ends).read_text().split() == ["second", "first"]
    assert killed == []


def test_who_does_not_end_in_time_is_killed_and_named(home: Path) -> None:
    stage = Stage(home, Patience(stop_within=0.3))
    child = stage.child("worker-1", STUBBORN)
    stage.supervisor.start([child])
    until(lambda: stage.says("worker-1", "up"))

    assert stage.supervisor.end_all() == ["worker-1"]
    assert child.ended() == "was killed by SIGKILL"


def test_a_second_wish_hurries(home: Path) -> None:
    stage = Stage(home, Patience(stop_within=600))
    child = stage.child("worker-1", STUBBORN)
    stage.supervisor.start([child])
    until(lambda: stage.says("worker-1", "up"))
    stage.stop.request()
    ending = threading.Thread(target=stage.supervisor.end_all)

    ending.start()
    stage.stop.request()
    ending.join(30)

    assert not ending.is_alive()


def test_what_a_crashed_child_left_in_its_group_is_ended(stage: Stage) -> None:
    child = stage.child(
        "web",
        "import subprocess, sys, time\n"
        "rest = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print('rest', rest.pid, flush=True)\n"
        "time.sleep(60)\n",
    )
    stage.supervisor.start([child])
    until(lambda: stage.says("web", "rest "))
    rest = identify(int(stage.home.log("web").read_text().split()[1]))
    assert rest is not None
    assert child.identity is not None

    child.identity.send(signal.SIGKILL)
    stage.look_until(lambda: stage.said)

    assert rest.wait(10)


def test_a_child_that_cannot_be_started_again_is_tried_later(stage: Stage) -> None:
    child = stage.child("web", "raise SystemExit(1)")
    stage.supervisor.start([child])
    log = stage.home.log("web")

    def break_and_repair() -> bool:
        return any("could not be started again" in line for line in stage.said)

    stage.look_until(lambda: stage.said)
    log.rename(log.with_name("away"))
    stage.home.logs.rename(stage.home.root / "gone")
    stage.look_until(break_and_repair)
    (stage.home.root / "gone").rename(stage.home.logs)

    stage.look_until(log.exists)


PARENT = """
import sys, time
from pathlib import Path
from habakkuk.core.config.environment import read_environment
from habakkuk.ops.child import Child
from habakkuk.ops.home import HomeFolder
from habakkuk.ops.processes import ProcessSpec
home = HomeFolder(Path(sys.argv[1]))
home.logs.mkdir()
child = Child(
    ProcessSpec("web", (sys.executable, "-c", "import time; time.sleep(60)")),
    dict(read_environment().process),
    home.log("web"),
)
child.start()
print(child.identity.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ties a child to its parent")
def test_kill_9_of_the_parent_leaves_no_child(home: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(home)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    ) as parent:
        assert parent.stdout is not None
        child = identify(int(parent.stdout.readline()))
        assert isinstance(child, ProcessIdentity)

        parent.kill()

        assert child.wait(10)
