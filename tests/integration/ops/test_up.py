"""`up` and `down` as a person runs them, with the real processes."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.core.failpoints import Failpoints
from habakkuk.core.interrupt import Interrupt
from habakkuk.db.engine import Database
from habakkuk.ops.home import HomeFolder, data_folder
from habakkuk.ops.identity import ProcessIdentity
from habakkuk.ops.port import free_port
from habakkuk.ops.run_file import RunFile, read_last_run, read_run
from habakkuk.processes.desk import Desk
from habakkuk.processes.types import NewProcess, ProcessState
from habakkuk.tools.workspace import open_workspace

ROOT = Path(__file__).parents[3]
DEADLINE = 90.0


class Machine:
    """A home of its own, and the commands on it."""

    def __init__(self, root: Path) -> None:
        self.home = root
        self.port = free_port()

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "web.cli", *words],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def _environment(self) -> dict[str, str]:
        # As it is now: each test takes the developer's own settings out of it.
        return {
            **os.environ,
            "HABAKKUK_HOME": str(self.home),
            "HABAKKUK_LISTEN": f"127.0.0.1:{self.port}",
            "PYTHONPATH": str(ROOT),
        }

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.run("up", "--detach", "--no-local-model")

    def started(self) -> RunFile:
        """Return what runs, started by now: the tests share one home."""
        if read_run(self.home) is None:
            up = self.up()
            assert up.returncode == 0, up.stdout + up.stderr
        run = read_run(self.home)
        assert run is not None
        return run

    def killed(self) -> RunFile:
        """Kill `up` as a crash would, with its processes left behind; return what ran."""
        run = self.started()
        run.up.send(signal.SIGKILL)
        assert run.up.wait(10)
        assert read_run(self.home) is None
        return run

    def processes(self) -> dict[str, ProcessIdentity]:
        run = read_last_run(self.home)
        assert run is not None
        return dict(run.processes)

    def healthz(self) -> dict[str, object]:
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            line.request("GET", "/healthz")
            found: dict[str, object] = json.loads(line.getresponse().read())
            return found
        finally:
            line.close()


def made_machine() -> Iterator[Machine]:
    folder = Path(tempfile.mkdtemp(prefix="hab-up-", dir="/tmp"))
    made = Machine(folder / "home")
    yield made
    made.run("down")
    data = data_folder(HomeFolder(made.home)) if made.home.exists() else folder
    shutil.rmtree(folder)
    shutil.rmtree(data, ignore_errors=True)


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    """A home that tests share: in whatever order, each finds or makes what it begins with."""
    yield from made_machine()


@pytest.fixture
def new_machine() -> Iterator[Machine]:
    """A home where nothing has ever run."""
    yield from made_machine()


def test_up_serves_and_down_ends_all_of_it(machine: Machine) -> None:
    machine.run("down")
    up = machine.up()
    assert up.returncode == 0, up.stdout + up.stderr
    processes = machine.processes()

    assert machine.healthz() == {"status": "ok", "degraded": []}
    assert set(processes) == {
        "valkey",
        "postgresql",
        "web",
        "worker-1",
        "worker-2",
        "processes",
        "beat",
    }
    assert f"http://127.0.0.1:{machine.port}" in up.stdout
    assert "./scripts/habakkuk down" in up.stdout
    # The link is for who started it: its secret is in no log.
    assert f"http://127.0.0.1:{machine.port}/login#" in up.stdout
    assert "/login#" not in (machine.home / "logs" / "up.log").read_text()

    # Nothing that a fork finds loaded may trouble it.
    logs = [(machine.home / "logs" / f"{name}.log").read_text() for name in ("worker-1", "beat")]
    assert not [log for log in logs if "Warning" in log]

    doctor = json.loads(machine.run("doctor", "-o", "json").stdout)
    wrong = {f["name"]: f for f in doctor["findings"] if f["verdict"] != "ok"}
    assert set(wrong) <= {"model", "agents' user"}, wrong

    down = machine.run("down")

    assert down.returncode == 0
    assert "Stopped Habakkuk" in down.stdout
    assert not any(process.alive() for process in processes.values())
    assert not (machine.home / "run.json").exists()


def test_a_second_up_says_that_one_runs(machine: Machine) -> None:
    run = machine.started()

    second = machine.up()

    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert f"already runs for {machine.home} (pid {run.up.pid}, {run.address})" in second.stderr
    assert run.up.alive()


def test_kill_9_leaves_nothing_that_the_next_up_does_not_adopt(machine: Machine) -> None:
    before = machine.killed().processes

    assert machine.up().returncode == 0

    after = machine.processes()
    assert after["postgresql"] == before["postgresql"]
    assert after["valkey"] == before["valkey"]
    assert not before["web"].alive()
    assert not before["worker-1"].alive()
    assert machine.healthz() == {"status": "ok", "degraded": []}


def test_down_ends_what_a_killed_up_left(machine: Machine) -> None:
    run = machine.killed()

    down = machine.run("down")

    assert "Ended what a killed run had left" in down.stdout
    assert not any(process.alive() for process in run.processes.values())


def test_a_crashed_process_is_back_and_named_in_the_log(machine: Machine) -> None:
    machine.started()

    _killed_and_back(machine, "worker-1")

    assert "worker-1 was killed by SIGKILL" in (machine.home / "logs" / "up.log").read_text()


def test_background_processes_outlive_the_workers_and_end_with_what_keeps_them(
    machine: Machine,
) -> None:
    """The supervisor starts each again; only the keeper's own death ends a command."""
    run = machine.started()
    database = Database(str(run.database_url), pool_size=2, name="test")
    desk = Desk(database, machine.home, Failpoints())
    folder = machine.home / "agents" / "habakkuk" / "workspace"
    with open_workspace(folder):
        pass
    new = NewProcess("p_up", "habakkuk", "s", "t", "echo $$; sleep 600", str(folder))
    try:
        # An earlier run of the tests on this home may have left one.
        database.run(text("DELETE FROM processes"))
        assert desk.start(new, Interrupt()).state is ProcessState.RUNNING
        for name in ("worker-1", "worker-2"):
            _killed_and_back(machine, name)
        found = desk.find(None, "p_up")
        assert found is not None
        assert found.state is ProcessState.RUNNING
        _killed_and_back(machine, "processes")
        lost = desk.wait("p_up", DEADLINE, Interrupt())
        assert lost.state is ProcessState.LOST
        pid = int(desk.read("p_up", 0, 100).data)
        assert not Path(f"/proc/{pid}").exists()
    finally:
        database.dispose()


def _killed_and_back(machine: Machine, name: str) -> None:
    first = machine.processes()[name]
    first.send(signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE
    while machine.processes()[name] == first:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_port_in_use_is_one_sentence(new_machine: Machine) -> None:
    machine = new_machine
    with socket.create_server(("127.0.0.1", machine.port)):
        up = machine.run("up", "--no-local-model")

    assert up.returncode == 3
    assert up.stderr.count("\n") == 1
    assert f"port {machine.port} on 127.0.0.1 is used by another program" in up.stderr
    assert "HABAKKUK_LISTEN" in up.stderr


def test_a_broken_config_is_named_before_anything_starts(new_machine: Machine) -> None:
    machine = new_machine
    machine.home.mkdir()
    (machine.home / "config.yaml").write_text("agnets: {}\n")

    up = machine.run("up", "--no-local-model")

    assert up.returncode == 3
    assert "config.yaml:1: agnets: unknown key; did you mean 'agents'?" in up.stderr
    assert not (machine.home / "run.json").exists()


def test_down_with_nothing_running_says_so(new_machine: Machine) -> None:
    down = new_machine.run("down")

    assert down.returncode == 0
    assert "is not running" in down.stdout


def test_a_local_model_that_is_no_model_is_refused(new_machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_text("no model")

    up = new_machine.run("up", "--local-model", str(tmp_path / "a.gguf"))

    assert up.returncode == 3
    assert "is no GGUF file" in up.stderr
