"""Eight ways from an agent's command to a secret of the server. As root all are closed.

As an ordinary user some cannot be: those are what `open_walls` tells, and they are tried here too,
so that the list stays true.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.ops.account import agent_user, service_user
from habakkuk.ops.home import HomeFolder, write_private
from habakkuk.ops.sockets import socket_folder
from habakkuk.tools.commands import Commands, Ended, Order
from habakkuk.tools.walls import open_walls
from habakkuk.tools.workspace import prepare_workspace
from tests.fakes.toolbox import PLAIN

CANARY = "canary-5c1d9e"
ROOT = Path(__file__).parents[2]
AS_ROOT = os.geteuid() == 0

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's"),
    pytest.mark.skipif(shutil.which("python3", path=PLAIN["PATH"]) is None, reason="no python3"),
]

# A server process: the secret in its environment, its memory, an open file and its folder.
_SERVER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from habakkuk.core.hardening import forbid_inspection
secret = os.environ["SECRET_API_KEY"]
held = open(".env")
forbid_inspection()
print("ready", flush=True)
sys.stdin.read()
"""


@dataclass
class House:
    """A home with a running server, and what runs commands in its workspace."""

    home: Path
    workspace: Path
    server: int
    sockets: Path
    commands: Commands

    def run(self, script: str) -> Ended:
        script = script.format(
            home=self.home, pid=self.server, sockets=self.sockets, python=sys.executable, root=ROOT
        )
        order = Order(script, self.workspace, 30)
        return self.commands.run(order, self.workspace, Interrupt())

    def told(self, script: str) -> str:
        ended = self.run(script)
        return ended.output.text() + ended.errors.text()


@pytest.fixture
def house() -> Iterator[House]:
    # Below a folder that everybody may pass: what protects the home must be its own.
    base = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    base.chmod(0o755)
    home = HomeFolder(base / "home")
    home.root.mkdir(mode=0o700)
    agent_user()
    workspace = home.root / "agents" / "habakkuk" / "workspace"
    prepare_workspace(workspace)
    write_private(home.root / ".env", f"SECRET_API_KEY={CANARY}\n".encode())
    write_private(home.run_file, f'{{"database_url": "{CANARY}"}}'.encode())
    sockets = socket_folder(home, _data(base), service_user())
    variables = PLAIN | {"SECRET_API_KEY": CANARY, "HABAKKUK_HOME": str(home.root)}
    with (
        _database(sockets / ".s.PGSQL.5432"),
        subprocess.Popen(
            [sys.executable, "-I", "-c", _SERVER, str(ROOT)],
            cwd=home.root,
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as server,
    ):
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        yield House(home.root, workspace, server.pid, sockets, Commands(variables, home.root))
        server.kill()
    shutil.rmtree(base)


def _data(base: Path) -> Path:
    data = base / "data"
    data.mkdir(mode=0o755)
    return data


class _database:  # noqa: N801 - reads as a context
    """Stands for a database: whoever connects is given the secret."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        path.chmod(0o777)  # as open as it could be: the folder is the wall
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while True:
            try:
                conversation, _ = self._socket.accept()
            except OSError:
                return
            with conversation:
                conversation.sendall(CANARY.encode())


_PTRACE = """python3 - <<'END'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print("attached" if libc.ptrace(16, {pid}, 0, 0) == 0 else "refused", ctypes.get_errno())
END
"""
_CONNECT = """python3 - <<'END'
import socket
with socket.socket(socket.AF_UNIX) as s:
    s.connect("{sockets}/.s.PGSQL.5432")
    print(s.recv(100).decode())
END
"""

ALWAYS_CLOSED = {
    "own environment": "env; set; export -p; cat /proc/self/environ /proc/$$/environ",
    "environment of its parents": "cat /proc/$PPID/environ; cat /proc/[0-9]*/environ",
    "environment of the server": "cat /proc/{pid}/environ; cat /proc/{pid}/task/{pid}/environ",
    "memory of the server": "cat /proc/{pid}/maps; head -c 9 /proc/{pid}/mem; cat /proc/{pid}/mem",
    "open files of the server": "cat /proc/{pid}/fd/*; cat /proc/{pid}/task/{pid}/fd/3",
    "folder of the server": "cat /proc/{pid}/cwd/.env",
    "root of the server": "cat /proc/{pid}/root{home}/.env",
    "variables of shells": "echo $SECRET_API_KEY; python3 -c 'import os; print(os.environ)'",
}
CLOSED_AS_ROOT = {
    ".env": "cat {home}/.env; ln -s {home}/.env here; cat here; cat ../../../.env",
    ".env by a hard link": "ln {home}/.env hard; cat hard; cp {home}/.env copy; cat copy",
    "run.json": "cat {home}/run.json; grep -r canary {home} 2>/dev/null",
    "database socket": _CONNECT,
}


@pytest.mark.parametrize("way", ALWAYS_CLOSED)
def test_the_secret_is_not_in_what_a_process_can_see(way: str, house: House) -> None:
    assert CANARY not in house.told(ALWAYS_CLOSED[way])


@pytest.mark.parametrize("way", CLOSED_AS_ROOT)
def test_the_files_and_sockets_of_the_home_are_closed_as_root(way: str, house: House) -> None:
    assert (CANARY in house.told(CLOSED_AS_ROOT[way])) is (not AS_ROOT)


def test_the_server_cannot_be_attached_to(house: House) -> None:
    assert house.told(_PTRACE).startswith("refused")


def test_the_command_line_refuses_an_agents_command(house: House) -> None:
    ended = house.run("cd {root} && {python} -m web.cli status")
    assert ended.code != 0
    assert CANARY not in ended.output.text()
    # As root the program itself may be out of reach; what it says is in tests/unit/web/cli.
    assert any(told in ended.errors.text() for told in ("may not use", "Permission denied"))


def test_the_command_line_refuses_the_agents_user_without_the_mark(house: House) -> None:
    if not AS_ROOT:
        pytest.skip("commands run as this user")
    ended = house.run("cd {root} && env -u HABAKKUK_AGENT_COMMAND {python} -m web.cli status")
    assert ended.code != 0


def test_no_core_file_can_be_had(house: House) -> None:
    told = house.told("ulimit -Hc; ulimit -c unlimited; ulimit -c; kill -ABRT $$")
    assert told.splitlines()[0] == "0"
    assert not any("core" in path.name for path in house.workspace.iterdir())


def test_the_server_leaves_no_core_file(house: House) -> None:
    """Dumpable is what decides: the limit could be raised by whoever starts the server."""
    status = subprocess.run(
        [sys.executable, "-c", _CRASH, str(ROOT)], cwd=house.home, check=False
    ).returncode
    assert status != 0
    assert sorted(path.name for path in house.home.iterdir() if "core" in path.name) == []


_CRASH = """
import os, resource, sys
sys.path.insert(0, sys.argv[1])
from habakkuk.core.hardening import forbid_inspection
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
forbid_inspection()
os.abort()
"""


def test_the_server_cannot_be_killed_as_root(house: House) -> None:
    if not AS_ROOT:
        pytest.skip("commands run as this user")
    assert "not permitted" in house.told("kill -9 {pid}").lower()
    os.kill(house.server, 0)


def test_rights_cannot_be_won_back(house: House) -> None:
    told = house.told("grep -E 'NoNewPrivs|CapEff|CapPrm' /proc/self/status; id -u")
    assert "NoNewPrivs:\t1" in told
    if AS_ROOT:
        assert told.splitlines()[0].split() == ["CapPrm:", "0000000000000000"]
        assert told.splitlines()[-1] != "0"


_KEEP = """python3 -c "
import ctypes
print('made', ctypes.CDLL(None).shmget({key}, 4096, 0o1600) >= 0)"
"""


@pytest.mark.skipif(not AS_ROOT, reason="a namespace of its own takes rights")
def test_no_shared_memory_outlives_a_command_as_root(house: House) -> None:
    """It would hold memory for ever, and be a way to commands that are walled off."""
    key = 0x4861626B
    ended = house.run(_KEEP.replace("{key}", str(key)))
    assert "made True" in ended.output.text()
    left = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert str(key) not in {line.split()[0] for line in left}


def test_the_home_holds_nothing_but_the_workspace_as_root(house: House) -> None:
    if not AS_ROOT:
        pytest.skip("commands run as this user")
    assert house.told("find {home} -mindepth 1 | sort").split() == [
        str(house.home / "agents"),
        str(house.home / "agents" / "habakkuk"),
        str(house.home / "agents" / "habakkuk" / "workspace"),
    ]


def test_the_workspace_is_reached_by_its_whole_path(house: House) -> None:
    house.told("echo made > {home}/agents/habakkuk/workspace/file; pwd > where")
    assert (house.workspace / "file").read_text() == "made\n"
    assert (house.workspace / "where").read_text() == f"{house.workspace}\n"


def test_a_home_reached_by_a_link_is_closed_alike(house: House) -> None:
    link = house.home.parent / "linked"
    link.symlink_to(house.home)
    workspace = link / "agents" / "habakkuk" / "workspace"
    commands = Commands(PLAIN, link)
    script = f"echo made > by_link; cat {house.home}/.env {link}/.env"
    ended = commands.run(Order(script, workspace, 30), workspace, Interrupt())
    assert (house.workspace / "by_link").read_text() == "made\n"
    assert (CANARY in ended.output.text()) is (not AS_ROOT)


def test_doctor_tells_what_is_open(house: House) -> None:
    told = "\n".join(open_walls(house.home))
    if AS_ROOT:
        assert told == ""
        return
    for part in (
        ".env",
        "run.json",
        "sockets of the databases",
        "habakkuk command",
        "end Habakkuk",
    ):
        assert part in told
