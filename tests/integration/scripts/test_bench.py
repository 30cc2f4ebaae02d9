"""The bench's own parts over real sockets, and that it leaves nothing when it is interrupted."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.ops.home import ROOT_DATA
from scripts.benches import proxy
from scripts.benches.client import Clients, Load, Target
from scripts.harness.environment import plain_environment
from scripts.harness.http import Api, Cut
from scripts.harness.programs import Program, free_port

_PATIENCE_SECONDS = 60.0


def _await(program: Program, port: int) -> None:
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            Api(port, "").get("/")
        except Cut:
            ended = program.code is not None
            assert not ended, program.last_lines()
            assert time.monotonic() < until
        else:
            return


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The fake model's port."""
    port = free_port()
    command = (sys.executable, "-m", "scripts.benches.model", str(port))
    log = tmp_path_factory.mktemp("model") / "log"
    program = Program("model", command, plain_environment() | {"PYTHONPATH": "."}, log)
    _await(program, port)
    yield port
    program.kill()


def test_clients_get_whole_answers_from_the_fake_model(model: int) -> None:
    run = Clients(Target(model, "instant"), Load(sessions=3, turns=30)).measure()
    assert (len(run.samples), run.failures) == (30, [])


def test_a_slow_model_speaks_after_half_a_second(model: int) -> None:
    run = Clients(Target(model, "slow"), Load(sessions=2, turns=2)).measure()
    assert all(0.5 <= sample.first <= sample.whole for sample in run.samples)


def test_the_model_says_how_many_asked_at_once(model: int) -> None:
    Api(model, "").get("/control")
    Clients(Target(model, "slow"), Load(sessions=7, turns=7)).measure()
    seen = Api(model, "").get("/control").body
    assert (seen["peak"], seen["open"], len(seen["arrivals"])) == (7, 0, 7)


def test_a_model_that_calls_a_tool_answers_after_its_result(model: int) -> None:
    asked = {"model": "caller", "messages": [{"role": "user", "content": "go"}]}
    first = Api(model, "").post("/v1/chat/completions", asked).body
    asked["messages"] = [{"role": "user"}, {"role": "assistant"}, {"role": "tool"}]
    second = Api(model, "").post("/v1/chat/completions", asked).body
    assert "list_dir" in first
    assert "list_dir" not in second


def test_the_bare_proxy_passes_everything_on(model: int, tmp_path: Path) -> None:
    port = free_port()
    command = proxy.command(port, f"http://127.0.0.1:{model}")
    environment = plain_environment() | {"PYTHONPATH": "."}
    program = Program("bare", command, environment, tmp_path / "log")
    try:
        _await(program, port)
        run = Clients(Target(port, "instant"), Load(sessions=4, turns=20)).measure()
    finally:
        program.kill()
    assert (len(run.samples), run.failures) == (20, [])


def _run_file(folder: Path, program: Program) -> Path:
    """Return the run file of the bench's `up` once its web process is named in it."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < until and program.code is None:
        for found in folder.glob("hab-bench-*/home/run.json"):
            if '"web"' in found.read_text():
                return found
        time.sleep(0.05)
    raise AssertionError(program.last_lines())


@pytest.mark.slow
def test_nothing_is_left_when_it_is_interrupted(tmp_path: Path) -> None:
    environment = plain_environment() | {"PYTHONPATH": ".", "TMPDIR": str(tmp_path)}
    command = (sys.executable, "-m", "scripts.benches", "--quick", "--json")
    program = Program("bench", command, environment, tmp_path / "log")
    try:
        run = _run_file(tmp_path, program)
        instance = run.with_name("instance").read_text().strip()
        pids = [process["pid"] for process in json.loads(run.read_text())["processes"].values()]
        program.signal(signal.SIGINT)
        program.wait(_PATIENCE_SECONDS)
    finally:
        program.kill()
    assert program.code == 130, program.last_lines()
    assert list(tmp_path.glob("hab-bench-*")) == []
    assert not (ROOT_DATA / instance).exists()
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
