"""The sandbox `workspace`, by each of the walls that stand on this machine.

Tried without the view of the file system that root gives to commands, so that the wall itself is
what closes: as an ordinary user has it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.commands import Commands, Ended, Order
from habakkuk.tools.sandbox.contract import Ground, Sheet
from habakkuk.tools.sandbox.workspace import Probe, Wall, WorkspaceOnly, _candidates, _tried
from habakkuk.tools.workspace import prepare_workspace
from tests.fakes import marks
from tests.fakes.toolbox import PLAIN
from tests.security.test_walls import ALWAYS_CLOSED

CANARY = "canary-77f0"
# The machine's own: what another run left there must not fail this one.
_SHARED = Path(f"/dev/shm/hab-new-{os.getpid()}")
WALLS = [one for one in _candidates() if isinstance(one, Wall) and _tried(one) is None]

pytestmark = pytest.mark.skipif(not WALLS, reason="no wall stands on this machine")


class _Bare(Commands):
    """Commands without the view: what hides the home is the sandbox alone."""

    def __init__(self, sandbox: WorkspaceOnly, *, hidden: bool) -> None:
        super().__init__(PLAIN)
        self._made = sandbox
        self._hides = hidden

    def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
        sheet = self._made.sheet(order, workspace, interrupt)
        sheet = replace(sheet, variables=sheet.variables | dict(order.variables))
        return sheet if self._hides else replace(sheet, hide=None, objection=None)


@dataclass
class House:
    """A home that everybody could read, were there no wall."""

    base: Path
    home: Path
    workspace: Path
    wall: Wall

    def run(self, script: str, *, hidden: bool = False, **given: object) -> Ended:
        config = AgentConfig.model_validate({"sandbox": "workspace", "workspace": given})
        sandbox = WorkspaceOnly(Ground(PLAIN, self.home), "a", config, Probe(lambda: [self.wall]))
        order = Order(script.format(home=self.home, base=self.base), self.workspace, 30)
        return _Bare(sandbox, hidden=hidden).run(order, self.workspace, Interrupt())

    def told(self, script: str, **given: object) -> str:
        ended = self.run(script, hidden=False, **given)
        return ended.output.text() + ended.errors.text()


@pytest.fixture(params=WALLS, ids=lambda wall: wall.name)
def house(request: pytest.FixtureRequest) -> Iterator[House]:
    base = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    base.chmod(0o777)
    home = base / "home"
    workspace = home / "agents" / "a" / "workspace"
    home.mkdir()
    prepare_workspace(workspace)
    for folder in (home, home / "agents", home / "agents" / "a"):
        folder.chmod(0o777)
    for name in (".env", "config.yaml", "run.json"):
        (home / name).write_text(CANARY)
        (home / name).chmod(0o666)
    (base / "other").write_text(CANARY)
    (base / "other").chmod(0o666)
    yield House(base, home, workspace, request.param)
    shutil.rmtree(base)


READS = {
    "the keys": "cat {home}/.env ../../../.env",
    "the configuration": "cat < {home}/config.yaml",
    "by a link": "ln -s {home}/.env here; cat here",
    "by a hard link": "ln {home}/.env hard && cat hard",
    "by a copy": "cp {home}/run.json copy && cat copy",
    "by a search": "grep -rs canary {home} {base}",
    "by the process's root": "cat /proc/self/root{home}/.env",
    "by another process's folder": "cat /proc/*/cwd/.env /proc/*/root{home}/.env",
    "by an open file of another": """python3 - <<'END'
import glob, os
for path in glob.glob("/proc/[0-9]*/fd/*"):
    try:
        print(os.read(os.open(path, os.O_RDONLY | os.O_NONBLOCK), 99))
    except OSError as error:
        print(error.strerror)
END""",
    "beside the home": "cat {base}/other",
    "from another language": "python3 -c 'print(open(\"{home}/.env\").read())'",
    "moved into reach": "mv {home}/.env mine && cat mine",
    "archived": "tar cf - {home}/.env | strings",
    "sourced": ". {home}/.env",
    "as a program": "bash {home}/.env",
    "listed and read": "for f in {home}/.*; do cat $f; done",
}
WRITES = {
    "beside the workspace": "echo no > {home}/new",
    "over a file": "echo no > {home}/.env",
    "at the end of a file": "echo no >> {home}/.env",
    "cut": "truncate -s 0 {home}/.env",
    "removed": "rm -f {home}/.env",
    "moved out": "echo no > x; mv x {home}/new",
    "linked out": "echo no > x; ln x {home}/new",
    "a folder": "mkdir {home}/new",
    "a link": "ln -s /etc/passwd {home}/new",
    "a pipe": "mkfifo {home}/new",
    "modes": "chmod 0 {home}/.env; cat {home}/.env",
    "common temporary files": "echo no > {base}/new",
    "shared memory": f"echo no > {_SHARED} && ls {_SHARED}",
    "through a link": "ln -s {home} out; echo no > out/new",
    "by another language": 'python3 -c \'open("{home}/new", "w").write("no")\'',
}
SOCKETS = {
    "internet": "socket.socket()",
    "datagrams": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "the next internet": "socket.create_connection(('::1', 9), 2)",
    "raw": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "packets": "socket.socket(17, socket.SOCK_RAW)",
}


def _each(ways: dict[str, str]) -> str:
    """Put the ways into one command, each in a folder of its own, its number before its words."""
    parts = (
        f"(mkdir -p way{number}; cd way{number}; {way}\n) 2>&1 | sed 's/^/{number}: /'"
        for number, way in enumerate(ways.values())
    )
    return "\n".join(parts)


def test_nothing_is_read_outside(house: House) -> None:
    told = house.told(_each(READS))
    assert [line for line in told.splitlines() if CANARY in line] == []
    # They were tried: each complains.
    numbers = {line.partition(":")[0] for line in told.splitlines()}
    assert len(numbers & {str(number) for number in range(len(READS))}) > 10


def test_nothing_is_written_outside(house: House) -> None:
    before = sorted(str(path) for path in house.home.rglob("*") if "workspace" not in str(path))
    house.run(_each(WRITES))
    after = sorted(str(path) for path in house.home.rglob("*") if "workspace" not in str(path))
    assert after == before
    assert (house.home / ".env").read_text() == CANARY
    assert not (house.base / "new").exists()
    assert not _SHARED.exists()


def test_nothing_is_connected_without_network(house: House) -> None:
    tries = "".join(
        f"""
try:
    {way}
    print("made: {name}")
except OSError:
    print("refused: {name}")
"""
        for name, way in SOCKETS.items()
    )
    told = house.told(f"python3 - <<'END'\nimport socket\n{tries}\nEND\n")
    assert len(told.splitlines()) == len(SOCKETS)
    made = {line.partition(": ")[2] for line in told.splitlines() if line.startswith("made")}
    # A network of its own has sockets, and nothing at their other end.
    own = {"internet", "datagrams", "raw", "packets"}
    assert made <= (own if house.wall.name == "bubblewrap" else set())


def test_with_network_a_port_of_this_machine_is_reached(house: House) -> None:
    script = """python3 - <<'END'
import socket
with socket.create_server(("127.0.0.1", 0)) as server:
    with socket.create_connection(server.getsockname(), 5):
        print("connected")
END
"""
    assert house.told(script, network=True).strip() == "connected"


@pytest.mark.parametrize("network", [False, True])
def test_a_socket_with_a_name_outside_is_not_reached(network: bool, house: House) -> None:
    """Such as those of the databases, of Docker and of the desktop."""
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(house.base / "s"))
        (house.base / "s").chmod(0o777)
        server.listen()
        script = f"""python3 - <<'END'
import socket
try:
    socket.socket(socket.AF_UNIX).connect("{house.base}/s")
    print("connected")
except OSError:
    print("refused")
END
"""
        assert house.told(script, network=network).strip() == "refused"


def test_a_process_outside_is_not_signalled(house: House) -> None:
    if house.wall.name == "landlock":
        pytest.skip("this wall closes files and sockets alone; the documentation says so")
    told = house.told(f"kill -0 {os.getppid()} && echo reached; kill -0 $PPID && echo shim")
    assert "reached" not in told


SECRETS = {
    "the environment": "cat /proc/[0-9]*/environ",
    "the environment of threads": "cat /proc/[0-9]*/task/[0-9]*/environ",
    "memory": """python3 - <<'END'
import glob
for path in glob.glob("/proc/[0-9]*/maps"):
    try:
        spans = [line.split()[0].split("-") for line in open(path) if "[stack]" in line]
        with open(path.replace("maps", "mem"), "rb") as memory:
            for first, last in spans:
                memory.seek(int(first, 16))
                print(memory.read(int(last, 16) - int(first, 16)))
    except OSError:
        pass
END""",
    "a program that looks": "ps axeww",
}


@pytest.fixture(params=["none", "workspace"])
def holder(request: pytest.FixtureRequest, house: House) -> Iterator[str]:
    """A command of another agent, in each of the sandboxes, that has a secret."""
    mark, stop = marks.new(), Interrupt()
    commands = Commands(PLAIN)
    if request.param == "workspace":
        config = AgentConfig.model_validate({"sandbox": "workspace"})
        probe = Probe(lambda: [house.wall])
        other = WorkspaceOnly(Ground(PLAIN, house.home), "b", config, probe)
        commands = _Bare(other, hidden=False)
    order = Order(f"sleep {mark}", house.workspace, 300, variables={"A_SECRET": CANARY})

    def hold() -> None:
        with suppress(Interrupted):
            commands.run(order, house.workspace, stop)

    thread = threading.Thread(target=hold)
    thread.start()
    marks.wait(mark)
    yield request.param
    stop.trip(Reason.CANCELLED)
    thread.join()


def test_the_secret_of_another_command_is_not_read(house: House, holder: str) -> None:
    told = house.told(_each(SECRETS))
    assert CANARY not in told
    # What they look for is there: a command without this wall finds it, as the documentation says.
    order = Order(_each(SECRETS), house.workspace, 30)
    found = Commands(PLAIN).run(order, house.workspace, Interrupt()).output.text()
    assert CANARY in found, holder


def test_what_was_closed_before_is_closed_still(house: House) -> None:
    script = _each(ALWAYS_CLOSED).replace("{pid}", str(os.getpid()))
    assert CANARY not in house.told(script)


def test_work_goes_on_inside(house: House) -> None:
    script = """set -e
mkdir -p src && cd src && echo 'print("hi")' > a.py && python3 a.py
t=$(mktemp) && echo temporary > "$t" && cat "$t"
ls ~ && [ "$HOME" = "$OLDPWD" ] || true
head -c 4 /dev/urandom | wc -c; echo x > /dev/null
git --version > /dev/null 2>&1 || true
"""
    ended = house.run(script)
    assert ended.code == 0, ended.errors.text()
    assert "hi\ntemporary\n" in ended.output.text()
    assert (house.workspace / "src" / "a.py").exists()


def test_temporary_files_are_gone_with_the_command(house: House) -> None:
    told = house.told('echo "$TMPDIR"; echo x > "${{TMPDIR:-/tmp}}/file"').strip()
    if house.wall.name != "bubblewrap":
        assert told.startswith("/tmp/habakkuk-")
        assert not Path(told).exists()
    assert not Path("/tmp/file").exists()


def test_more_folders_can_be_opened_for_reading(house: House) -> None:
    tools = house.base / "tools"
    tools.mkdir()
    (tools / "t").write_text("echo from the tools\n")
    tools.chmod(0o755)
    (tools / "t").chmod(0o755)
    assert "from the tools" in house.told("sh {base}/tools/t", read=[str(tools)])
    assert "from the tools" not in house.told("sh {base}/tools/t")
    house.run("echo no > {base}/tools/new", read=[str(tools)])
    assert not (tools / "new").exists()


def test_it_stands_together_with_the_view_that_root_gives(house: House) -> None:
    ended = house.run("echo inside > file; cat {home}/.env", hidden=True)
    assert (house.workspace / "file").read_text() == "inside\n"
    assert CANARY not in ended.output.text() + ended.errors.text()


def test_a_timeout_kills_all_of_it(house: House) -> None:
    sandbox = WorkspaceOnly(
        Ground(PLAIN, house.home),
        "a",
        AgentConfig.model_validate({"sandbox": "workspace"}),
        Probe(lambda: [house.wall]),
    )
    # Of this process alone: others run the same test beside it.
    sleep = f"sleep {100_000 + os.getpid()}"
    order = Order(f"setsid {sleep} & {sleep}", house.workspace, 1)
    ended = _Bare(sandbox, hidden=False).run(order, house.workspace, Interrupt())
    assert ended.timed_out
    running = subprocess.run(["ps", "ax", "-o", "args"], capture_output=True, text=True, check=True)
    assert sleep not in running.stdout


def test_a_wall_that_does_not_stand_refuses_and_says_what_to_do(tmp_path: Path) -> None:
    config = AgentConfig.model_validate({"sandbox": "workspace"})
    nowhere = Probe(lambda: ["sandlock is not installed", Wall("landlock", site="/nowhere")])
    sandbox = WorkspaceOnly(Ground(PLAIN, tmp_path), "a", config, nowhere)
    with pytest.raises(ToolError, match="install bubblewrap"):
        sandbox.sheet(Order("true", tmp_path, 5), tmp_path, Interrupt())
    (told,) = sandbox.objections()
    assert "sandlock is not installed" in told
    assert "landlock does not work here" in told


def test_a_wall_that_falls_between_the_look_and_the_command_runs_nothing(house: House) -> None:
    """The library is gone when the shim wants it: the command is not run without it."""
    if house.wall.program:
        pytest.skip("a program that is gone cannot be started")
    sandbox = WorkspaceOnly(
        Ground(PLAIN, house.home),
        "a",
        AgentConfig.model_validate({"sandbox": "workspace"}),
        Probe(lambda: [house.wall]),
    )
    order = Order("echo ran > ran", house.workspace, 5)
    sheet = sandbox.sheet(order, house.workspace, Interrupt())
    assert sheet.confine is not None
    gone = replace(sheet, hide=None, confine=sheet.confine | {"library": "landlock", "site": "/no"})

    class _Given(Commands):
        def sheet(self, order: Order, workspace: Path, interrupt: Interrupt) -> Sheet:
            return gone

    ended = _Given(PLAIN).run(Order("", house.workspace, 5), house.workspace, Interrupt())
    assert ended.code == 127
    assert "sandbox" in ended.errors.text()
    assert not (house.workspace / "ran").exists()
