"""Commands in a container, with an engine that runs them here."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.commands import Commands, Ended, Order
from habakkuk.tools.detached import Detached
from habakkuk.tools.sandbox.contract import Ground
from tests.fakes import marks
from tests.fakes.docker import FakeDocker
from tests.fakes.stack import until


@dataclass
class House:
    engine: FakeDocker
    workspace: Path
    home: Path

    def commands(self, **given: object) -> Commands:
        config = AgentConfig.model_validate({"sandbox": "docker", "docker": given})
        process = self.engine.environment | {"SECRET_API_KEY": "canary"}
        return Commands.on(Ground(process, self.home), {"a": config})

    def order(self, script: str, seconds: float = 30, folder: str = ".") -> Order:
        return Order(script, self.workspace / folder, seconds, None, "a")

    def run(self, script: str, seconds: float = 30, folder: str = ".", **given: object) -> Ended:
        order = self.order(script, seconds, folder)
        return self.commands(**given).run(order, self.workspace, Interrupt())

    def made_with(self) -> list[str]:
        (call,) = self.engine.given("run")
        return call


@pytest.fixture
def house() -> Iterator[House]:
    # A socket's path may have 107 bytes.
    base = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    (base / "docker").mkdir()
    engine = FakeDocker(base / "docker")
    workspace = base / "home" / "agents" / "a" / "workspace"
    (workspace / "sub").mkdir(parents=True)
    yield House(engine, workspace, base / "home")
    engine.close()
    shutil.rmtree(base)


def _option(call: list[str], name: str) -> str | None:
    return call[call.index(name) + 1] if name in call else None


def test_a_command_runs_in_the_folder_it_names_and_tells_its_code(house: House) -> None:
    ended = house.run('pwd; echo "$HOME"; echo problem >&2; exit 7', folder="sub")
    assert ended.output.text() == f"{house.workspace}/sub\n{house.workspace}\n"
    assert ended.errors.text() == "problem\n"
    assert ended.code == 7
    assert not ended.timed_out


def test_the_container_is_made_once_as_it_is_configured(house: House) -> None:
    given = {"image": "python:3.13", "network": False, "cpus": 1.5, "memory": "2GB"}
    commands = house.commands(**given)
    for _ in range(3):
        commands.run(house.order("true"), house.workspace, Interrupt())
    made = house.made_with()
    assert _option(made, "--name") == "habakkuk-a"
    assert _option(made, "--network") == "none"
    assert _option(made, "--cpus") == "1.5"
    assert _option(made, "--memory") == "2000000000"
    assert _option(made, "--volume") == f"{house.workspace}:{house.workspace}"
    owner = house.workspace.stat()
    assert _option(made, "--user") == f"{owner.st_uid}:{owner.st_gid}"
    assert _option(made, "--pids-limit") == "512"
    assert "--init" in made
    assert made[made.index("python:3.13") + 1] == "bash"
    # Seen once, it is trusted for half a minute.
    assert len(house.engine.given("inspect")) == 1


def test_the_image_may_keep_its_user(house: House) -> None:
    house.run("true", user="image")
    assert "--user" not in house.made_with()


@pytest.mark.parametrize(("pids", "given"), [(100, "100"), (None, None)])
def test_how_many_processes_it_may_have_is_a_setting(
    pids: int | None, given: str | None, house: House
) -> None:
    house.run("true", pids=pids)
    assert _option(house.made_with(), "--pids-limit") == given


@pytest.fixture
def pull(house: House) -> Iterator[threading.Event]:
    """An image that is not there before this is set; /stop is not heard by the engine."""
    there, run = threading.Event(), house.engine._run

    def slow(args: list[str], handles: list[int]) -> int:
        if "slow" in args:
            there.wait(60)
        # Whoever asked may be gone by now.
        with suppress(BrokenPipeError):
            return run(args, handles)
        return 1

    house.engine._run = slow  # type: ignore[method-assign] # the engine's own way, as it is
    yield there
    there.set()


def test_an_image_that_is_fetched_ends_with_the_turn_and_so_does_waiting_for_it(
    house: House, pull: threading.Event
) -> None:
    commands = house.commands(image="slow")
    stops = [Interrupt(), Interrupt()]

    def run(stop: Interrupt) -> None:
        commands.run(house.order("echo ran > ran"), house.workspace, stop)

    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run, stop) for stop in stops]
        until(lambda: house.engine.given("run"))
        for stop in reversed(stops):
            stop.trip(Reason.CANCELLED)
        for each in runs:
            with pytest.raises(Interrupted):
                each.result(60)
    assert not pull.is_set()
    assert len(house.engine.given("run")) == 1
    assert not (house.workspace / "ran").exists()
    # The next turn gets it.
    pull.set()
    assert commands.run(house.order("echo now"), house.workspace, Interrupt()).code == 0


def test_other_agents_do_not_wait_for_an_image(house: House, pull: threading.Event) -> None:
    agents = {
        name: AgentConfig.model_validate({"sandbox": "docker", "docker": {"image": image}})
        for name, image in (("a", "slow"), ("b", "quick"))
    }
    commands = Commands.on(Ground(house.engine.environment, house.home), agents)
    with ThreadPoolExecutor(1) as pool:
        stop = Interrupt()
        first = pool.submit(commands.run, house.order("true"), house.workspace, stop)
        until(lambda: house.engine.given("run"))
        other = replace(house.order("echo b"), agent="b")
        assert commands.run(other, house.workspace, Interrupt()).output.text() == "b\n"
        assert not pull.is_set()
        stop.trip(Reason.CANCELLED)
        with pytest.raises(Interrupted):
            first.result(60)


def test_a_container_that_stopped_is_started(house: House) -> None:
    house.run("true")
    house.engine.containers["habakkuk-a"]["running"] = False
    assert house.run("echo again").output.text() == "again\n"
    assert len(house.engine.given("start")) == 1
    assert len(house.engine.given("run")) == 1


def test_other_settings_make_another_container(house: House) -> None:
    house.run("true")
    house.run("true", network=False)
    assert len(house.engine.given("rm")) == 1
    assert len(house.engine.given("run")) == 2


def test_a_container_of_somebody_else_is_left_alone(house: House) -> None:
    house.engine.containers["habakkuk-a"] = {"running": True, "labels": {}}
    with pytest.raises(ToolError, match="not this agent's"):
        house.run("true")
    assert house.engine.given("rm") == house.engine.given("exec") == []


def test_nothing_of_the_servers_environment_comes_along(house: House) -> None:
    told = house.run("env").output.text()
    assert "canary" not in told
    assert "HABAKKUK_AGENT_COMMAND=1" in told


def test_without_the_program_commands_are_refused(house: House) -> None:
    config = AgentConfig.model_validate({"sandbox": "docker"})
    commands = Commands.on(Ground({"PATH": "/nowhere"}, house.home), {"a": config})
    with pytest.raises(ToolError, match="install Docker"):
        commands.run(house.order("echo ran > ran"), house.workspace, Interrupt())
    assert not (house.workspace / "ran").exists()
    assert "install Docker" in commands.sandbox("a").objections()[0]


def test_without_the_engine_commands_are_refused(house: House) -> None:
    commands = house.commands()
    house.engine.close()
    (house.engine.folder / "s").unlink()
    with pytest.raises(ToolError, match="Cannot connect to the Docker daemon"):
        commands.run(house.order("echo ran > ran"), house.workspace, Interrupt())
    assert not (house.workspace / "ran").exists()
    assert commands.sandbox("a").objections()


def test_a_timeout_kills_the_whole_tree_where_it_runs(house: House) -> None:
    mark = marks.new()
    script = f"sleep {mark} & (setsid sleep {mark} &) ; trap '' TERM; sleep {mark}; sleep {mark}"
    ended = house.run(script, seconds=1.0)
    assert ended.timed_out
    marks.wait_gone(mark)


def test_cancelling_kills_the_whole_tree_where_it_runs(house: House) -> None:
    mark, interrupt = marks.new(), Interrupt()
    commands = house.commands()

    def cancel() -> None:
        marks.wait(mark)
        interrupt.trip(Reason.CANCELLED)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(Interrupted):
        commands.run(house.order(f"sleep {mark} & sleep {mark}"), house.workspace, interrupt)
    thread.join()
    marks.wait_gone(mark)


def test_what_a_command_leaves_behind_ends_with_it(house: House) -> None:
    mark = marks.new()
    ended = house.run(
        f"(setsid sleep {mark} >/dev/null 2>&1 &); nohup sleep {mark} >/dev/null 2>&1 &"
    )
    assert ended.code == 0
    marks.wait_gone(mark)
    assert not list(house.engine.folder.glob(".habakkuk-*"))


_WORKER = """
import sys
from pathlib import Path
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.commands import Commands, Order
from habakkuk.tools.detached import Detached
from habakkuk.tools.sandbox.contract import Ground
folder, home, workspace, script = sys.argv[1:]
process = {"PATH": f"{folder}:/usr/bin:/bin", "DOCKER_CONFIG": folder}
agents = {"a": AgentConfig.model_validate({"sandbox": "docker"})}
order = Order(script, Path(workspace), 600, None, "a")
Commands.on(Ground(process, Path(home)), agents).run(order, Path(workspace), Interrupt())
"""


def test_a_killed_worker_leaves_nothing_running_there(house: House) -> None:
    mark = marks.new()
    folder, home, workspace = map(str, (house.engine.folder, house.home, house.workspace))
    script = f"(setsid sleep {mark} &); sleep {mark} & sleep {mark}"
    argv = [sys.executable, "-c", _WORKER, folder, home, workspace, script]
    with subprocess.Popen(argv, cwd=Path(__file__).parents[3]) as worker:
        marks.wait(mark)
        worker.kill()
    marks.wait_gone(mark)


def test_a_background_process_is_written_to_and_ended_there(house: House) -> None:
    mark, said, ended = marks.new(), bytearray(), threading.Event()
    script = f'read line; echo "got $line"; (setsid sleep {mark} &); sleep {mark}'
    order = replace(house.order(script), seconds=None)
    sheet = house.commands().sheet(order, house.workspace, Interrupt())
    running = Detached(sheet, said.extend, lambda _: ended.set())
    running.give(b"a line\n", lambda _: None, eof=False)
    marks.wait(mark)
    running.end()
    assert ended.wait(60)
    marks.wait_gone(mark)
    assert bytes(said) == b"got a line\n"


def test_killing_one_command_leaves_the_others_alone(house: House) -> None:
    mark, stop, commands = marks.new(), Interrupt(), house.commands()

    def keep() -> None:
        with suppress(Interrupted):
            commands.run(house.order(f"sleep {mark}", 60), house.workspace, stop)

    thread = threading.Thread(target=keep)
    thread.start()
    marks.wait(mark)
    assert house.run("sleep 30", seconds=0.5).timed_out
    assert marks.alive(mark)
    stop.trip(Reason.CANCELLED)
    thread.join()


@pytest.mark.parametrize(
    "script", ['echo $0 "$@"', "echo 'a\"b'", "printf '%s' '--help'", "-x", "a\nb"]
)
def test_a_script_is_never_taken_for_something_else(script: str, house: House) -> None:
    here = subprocess.run(
        ["bash", "--noprofile", "--norc", "-c", "--", script], capture_output=True, check=False
    )
    ended = house.run(script)
    assert (ended.output.text(), ended.code) == (here.stdout.decode(), here.returncode)
