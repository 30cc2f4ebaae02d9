"""Programs as forks: what they are given, what they leave behind, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.ops.identity import identify

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
ROOT = Path(__file__).parents[3]
# It loads a module that counts its loads, holds a file open, and minds signals, as `up` does.
PARENT = """
import json, os, signal, sys, threading
from functools import partial
from pathlib import Path
from habakkuk.core.config.environment import read_environment
from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.child import Child
from habakkuk.ops.forks import Forks
from habakkuk.ops.processes import ProcessSpec
folder = Path(sys.argv[1])
def crowded():
    raise BlockingIOError(11, "no room for another process")
held = os.open(os.devnull, os.O_RDONLY)
signal.signal(signal.SIGTERM, lambda *_: None)
forks = Forks(lambda: __import__("library"))
variables = {"PATH": os.environ["PATH"], "GIVEN": "yes"}
for line in sys.stdin:
    name, *words = json.loads(line)
    if name == "blocked":
        print(len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), flush=True)
        continue
    if name == "thread":
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        continue
    spec = ProcessSpec(name, (sys.executable, "-m", *words))
    child = Child(spec, variables, folder / f"{name}.log", partial(forks.start, name))
    if name == "crowded":
        os.fork = crowded
    try:
        child.start()
    except (AssertionError, ConfigurationError) as error:
        print(json.dumps(str(error)), flush=True)
        continue
    # One that ends at once is nobody by the time somebody looks.
    print(child.identity.pid if child.identity else 0, flush=True)
    if name == "watched":
        while (reason := child.ended()) is None:
            pass
        print(json.dumps(reason), flush=True)
"""
SEEN = """
import json, os, signal, sys, library
print("at once")
print(json.dumps({
    "arguments": sys.argv[1:],
    "name": __name__,
    "shown": open("/proc/self/comm").read().strip(),
    "variables": {k: v for k, v in os.environ.items() if k != "LC_CTYPE"},
    "folder": os.getcwd(),
    "session": os.getsid(0) == os.getpid(),
    "umask": os.umask(0),
    "files": sorted(int(n) for n in os.listdir("/proc/self/fd"))[:3],
    "open": len(os.listdir("/proc/self/fd")) - 1,
    "input": sys.stdin.read(),
    "loads": library.loads,
    "term": signal.getsignal(signal.SIGTERM) == signal.SIG_DFL,
    "blocked": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
}))
"""
MODULES = {
    "library": "import os\nloads = [os.getpid()]\n",
    "seen": SEEN,
    "waits": "import signal\nprint('up')\nwhile True: signal.pause()\n",
    "fails": "import atexit; atexit.register(print, 'at the end'); raise SystemExit('why')\n",
    "breaks": "raise ValueError('broken')\n",
}


class Parent:
    """The process that forks, told over its input."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in MODULES.items():
            (folder / f"{name}.py").write_text(text)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment({"PYTHONPATH": f"{ROOT}:{folder}"}),
            text=True,
        )

    def tell(self, *words: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def start(self, *words: str) -> int:
        self.tell(*words)
        pid: int = self.hear()
        return pid

    def log(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    return {**read_environment().process, **more}


def _until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail("it did not happen")
        time.sleep(0.01)


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[Parent]:
    made = Parent(tmp_path)
    yield made
    made.process.kill()
    made.process.communicate()


def test_a_fork_is_the_program_that_its_command_names(parent: Parent) -> None:
    parent.start("watched", "seen", "--option", "value")
    assert parent.hear() == "ended with exit code 0"

    first, second = parent.log("watched").splitlines()
    seen = json.loads(second)
    assert first == "at once"
    assert seen["arguments"] == ["--option", "value"]
    assert seen["name"] == "__main__"
    assert seen["shown"] == "watched"
    assert seen["folder"] == str(ROOT)
    assert seen["variables"] == {"PATH": os.environ["PATH"], "GIVEN": "yes"}


def test_a_fork_has_a_session_files_and_signals_of_its_own(parent: Parent) -> None:
    parent.start("watched", "seen")
    parent.hear()

    seen = json.loads(parent.log("watched").splitlines()[1])
    assert seen["session"]
    assert seen["umask"] == 0o077
    assert seen["files"] == [0, 1, 2]
    assert seen["open"] == 3
    assert seen["input"] == ""
    assert seen["term"]
    assert seen["blocked"] == 0


def test_what_the_parent_has_loaded_is_not_loaded_again(parent: Parent) -> None:
    parent.start("watched", "seen")
    parent.hear()

    seen = json.loads(parent.log("watched").splitlines()[1])
    assert seen["loads"] == [parent.process.pid]


def test_a_fork_that_fails_says_why_and_ends_in_order(parent: Parent) -> None:
    parent.start("watched", "fails")

    assert parent.hear() == "ended with exit code 1"
    assert parent.log("watched").split("\n") == ["why", "at the end", ""]


def test_an_error_of_a_fork_is_in_its_log_and_ends_nobody_else(parent: Parent) -> None:
    parent.start("watched", "breaks")

    assert parent.hear() == "ended with exit code 1"
    assert "ValueError: broken" in parent.log("watched")
    assert parent.start("next", "waits")


def test_a_killed_fork_is_told_from_one_that_ended(parent: Parent) -> None:
    pid = parent.start("watched", "waits")
    _until(lambda: "up" in parent.log("watched"))

    os.kill(pid, signal.SIGKILL)

    assert parent.hear() == "was killed by SIGKILL"


def test_sigterm_ends_a_fork_that_does_not_mind_it(parent: Parent) -> None:
    pid = parent.start("watched", "waits")
    _until(lambda: "up" in parent.log("watched"))

    os.kill(pid, signal.SIGTERM)

    assert parent.hear() == "was killed by SIGTERM"


def test_kill_9_of_the_parent_leaves_no_fork(parent: Parent) -> None:
    forks = [identify(parent.start(name, "waits")) for name in ("worker-1", "worker-2")]
    _until(lambda: "up" in parent.log("worker-1") and "up" in parent.log("worker-2"))

    parent.process.kill()

    assert all(fork is not None and fork.wait(10) for fork in forks)


def test_kill_9_of_a_fork_leaves_the_others(parent: Parent) -> None:
    other = identify(parent.start("worker-1", "waits"))
    pid = parent.start("watched", "waits")
    _until(lambda: "up" in parent.log("watched"))

    os.kill(pid, signal.SIGKILL)
    parent.hear()

    assert other is not None
    assert other.alive()


def test_nothing_is_forked_beside_a_thread(parent: Parent) -> None:
    parent.tell("thread")
    parent.tell("worker-1", "waits")

    assert "a fork beside other threads" in parent.hear()


def test_without_room_for_a_fork_the_parent_still_hears_signals(parent: Parent) -> None:
    """It goes on without that child, and must end when it is told to."""
    parent.tell("crowded", "seen")
    assert "no room for another process" in parent.hear()
    parent.tell("blocked")
    assert parent.hear() == 0
