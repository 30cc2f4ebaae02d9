"""Commands on another machine: a real sshd on this one, and a real ssh."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.commands import Commands, Ended, Order
from habakkuk.tools.registry import ToolRegistry
from habakkuk.tools.sandbox.contract import Ground
from tests.fakes import marks
from tests.fakes.ssh_server import SSHD, SshServer
from tests.fakes.toolbox import call, context, services

pytestmark = pytest.mark.skipif(SSHD is None, reason="no sshd here (openssh-server)")


@dataclass
class House:
    server: SshServer
    home: Path
    workspace: Path
    there: Path

    def commands(self, secret: str | None = None, **given: object) -> Commands:
        section = {
            "host": "127.0.0.1",
            "port": self.server.port,
            "user": self.server.user,
            "key_env": "AGENT_SSH_KEY",
            "workdir": str(self.there),
        }
        config = AgentConfig.model_validate({"sandbox": "ssh", "ssh": section | given})
        value = self.server.key if secret is None else secret
        keys = {"AGENT_SSH_KEY": value}.get
        process = self.server.environment | {"SECRET_API_KEY": "canary"}
        return Commands.on(Ground(process, self.home, secret=keys), {"a": config})

    def order(self, script: str, seconds: float = 60, folder: str = ".") -> Order:
        return Order(script, self.workspace / folder, seconds, None, "a")

    def run(self, script: str, seconds: float = 60, folder: str = ".") -> Ended:
        return self.commands().run(self.order(script, seconds, folder), self.workspace, Interrupt())


@pytest.fixture
def house() -> Iterator[House]:
    base = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    (base / "s").mkdir()
    server = SshServer(base / "s")
    server.start()
    home, there = base / "home", base / "there"
    workspace = home / "agents" / "a" / "workspace"
    workspace.mkdir(parents=True)
    (there / "sub").mkdir(parents=True)
    yield House(server, home, workspace, there)
    for path in (home / "ssh").glob("*"):
        if path.is_socket():
            ended = ["ssh", "-o", f"ControlPath={path}", "-O", "exit", "x"]
            subprocess.run(ended, capture_output=True, check=False)
    server.close()
    shutil.rmtree(base)


def test_a_command_runs_there_in_the_folder_that_stands_for_its_own(house: House) -> None:
    ended = house.run("pwd; echo made > file; echo problem >&2; exit 7", folder="sub")
    assert ended.output.text() == f"{house.there}/sub\n"
    assert ended.errors.text().endswith("problem\n")
    assert ended.code == 7
    assert (house.there / "sub" / "file").read_text() == "made\n"
    assert not (house.workspace / "sub").exists()


def test_commands_share_one_connection(house: House) -> None:
    commands = house.commands()
    for number in range(3):
        ended = commands.run(house.order(f"echo {number}"), house.workspace, Interrupt())
        assert ended.output.text() == f"{number}\n"
    # Another worker's commands too.
    house.run("true")
    assert house.server.logins == 1


def test_nothing_of_the_servers_environment_comes_along(house: House) -> None:
    told = house.run("env").output.text()
    assert "canary" not in told
    assert "PRIVATE KEY" not in told
    assert "HABAKKUK_AGENT_COMMAND=1" in told


def test_the_key_is_kept_where_only_its_owner_reads(house: House) -> None:
    house.run("true")
    path = house.home / "ssh" / "a.key"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_the_variable_may_name_the_keys_file(house: House) -> None:
    commands = house.commands(secret=str(house.server.folder / "client"))
    ended = commands.run(house.order("echo in"), house.workspace, Interrupt())
    assert ended.output.text() == "in\n"
    assert not (house.home / "ssh" / "a.key").exists()


@pytest.mark.parametrize(
    ("secret", "told"),
    [("", "AGENT_SSH_KEY is not set"), ("/no/such/key", "names /no/such/key")],
)
def test_a_missing_key_fails_with_the_reason_and_runs_nothing(
    secret: str, told: str, house: House
) -> None:
    commands = house.commands(secret=secret)
    with pytest.raises(ToolError, match=told):
        commands.run(house.order("echo ran > ran"), house.workspace, Interrupt())
    assert told in commands.sandbox("a").objections()[0]
    assert not list(house.workspace.iterdir())


def test_a_key_that_is_refused_fails_with_the_reason(house: House) -> None:
    (house.server.folder / "authorized").write_text("")
    with pytest.raises(ToolError, match="Permission denied"):
        house.run("true")


def test_a_host_that_nobody_knows_is_refused(house: House) -> None:
    (house.server.folder / "known").write_text("")
    with pytest.raises(ToolError, match=r"[Hh]ost key verification failed"):
        house.run("true")


def test_a_host_with_another_key_is_refused(house: House) -> None:
    other = (house.server.folder / "client.pub").read_text()
    (house.server.folder / "known").write_text(f"[127.0.0.1]:{house.server.port} {other}")
    with pytest.raises(ToolError, match=r"[Hh]ost key verification failed"):
        house.run("true")


def test_a_host_that_does_not_answer_is_told(house: House) -> None:
    house.server.close()
    with pytest.raises(ToolError, match="cannot be reached"):
        house.run("true")


def test_without_the_program_commands_are_refused(house: House) -> None:
    section = {"host": "127.0.0.1", "workdir": "/tmp"}
    config = AgentConfig.model_validate({"sandbox": "ssh", "ssh": section})
    commands = Commands.on(Ground({"PATH": "/nowhere"}, house.home), {"a": config})
    with pytest.raises(ToolError, match="openssh-client"):
        commands.run(house.order("echo ran > ran"), house.workspace, Interrupt())
    assert not list(house.workspace.iterdir())


def test_a_timeout_kills_the_whole_tree_where_it_runs(house: House) -> None:
    mark = marks.new()
    script = f"sleep {mark} & (setsid sleep {mark} &) ; trap '' TERM; sleep {mark}; sleep {mark}"
    assert house.run(script, seconds=1.5).timed_out
    marks.wait_gone(mark)


def test_cancelling_kills_the_whole_tree_where_it_runs(house: House) -> None:
    mark, interrupt = marks.new(), Interrupt()

    def cancel() -> None:
        marks.wait(mark)
        interrupt.trip(Reason.CANCELLED)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(Interrupted):
        house.commands().run(
            house.order(f"sleep {mark} & sleep {mark}"), house.workspace, interrupt
        )
    thread.join()
    marks.wait_gone(mark)


def test_a_connection_that_broke_is_made_again(house: House) -> None:
    commands = house.commands()
    commands.run(house.order("true"), house.workspace, Interrupt())
    (socket,) = (path for path in (house.home / "ssh").iterdir() if path.is_socket())
    subprocess.run(
        ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "x"], capture_output=True, check=True
    )
    ended = commands.run(house.order("echo again"), house.workspace, Interrupt())
    assert ended.output.text() == "again\n"


def test_a_home_with_a_long_path_has_its_socket_elsewhere(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(house.home.parent))
    long = house.home.parent / ("x" * 90)
    long.mkdir()
    moved = House(house.server, long, house.workspace, house.there)
    assert moved.run("echo in").output.text() == "in\n"
    folder = Path(tempfile.gettempdir()) / f"habakkuk-ssh-{os.geteuid()}"
    assert folder.stat().st_mode & 0o077 == 0
    for path in folder.iterdir():
        subprocess.run(
            ["ssh", "-o", f"ControlPath={path}", "-O", "exit", "x"],
            capture_output=True,
            check=False,
        )


@pytest.mark.parametrize("host", ["-oProxyCommand=touch x", "a b", "a;b", "$(x)", "user@host", ""])
def test_a_host_is_never_an_option(host: str) -> None:
    """Row 27: the value stands in the configuration, and may be wrong there too."""
    with pytest.raises(ValueError, match="write a host"):
        AgentConfig.model_validate({"sandbox": "ssh", "ssh": {"host": host, "workdir": "/w"}})


def test_the_section_is_needed() -> None:
    with pytest.raises(ValueError, match="needs a section"):
        AgentConfig.model_validate({"sandbox": "ssh"})


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_file", {"path": "a", "content": "x"}),
        ("edit_file", {"path": "a", "old": "x", "new": "y"}),
        ("apply_patch", {"patch": "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\n"}),
    ],
)
def test_files_are_not_written_here_for_commands_that_run_there(
    tool: str, arguments: dict[str, str], house: House
) -> None:
    (house.workspace / "a").write_text("x")
    where = context(house.workspace, services(house.home, commands=house.commands()), agent="a")
    output = call(ToolRegistry().of(["core"])[tool], where, **arguments)
    assert output.is_error
    assert "change files there with exec" in output.text
    assert (house.workspace / "a").read_text() == "x"
    read = call(ToolRegistry().of(["core"])["read_file"], where, path="a")
    assert not read.is_error
