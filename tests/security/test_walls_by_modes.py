"""Root in a container without the right to mount: file modes are the wall, or commands refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.ops.account import agent_user
from habakkuk.tools.workspace import prepare_workspace
from tests.fakes.toolbox import PLAIN

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="needs root and setpriv"
)

_RUN = """
import sys
from pathlib import Path
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.commands import Commands, Order
from habakkuk.tools.walls import open_walls
home, script = Path(sys.argv[1]), sys.argv[2]
workspace = home / "agents" / "habakkuk" / "workspace"
if script == "walls":
    print(*open_walls(home))
    sys.exit()
try:
    order = Order(script, workspace, 30)
    ended = Commands(dict(PATH="/usr/bin:/bin"), home).run(order, workspace, Interrupt())
except ToolError as error:
    print("refused:", error)
else:
    print(ended.output.text(), ended.errors.text())
"""


@pytest.fixture
def home() -> Iterator[Path]:
    base = Path(tempfile.mkdtemp(prefix="hab-", dir="/tmp"))
    base.chmod(0o755)
    home = base / "home"
    home.mkdir(mode=0o711)
    agent_user()
    prepare_workspace(home / "agents" / "habakkuk" / "workspace")
    (home / ".env").write_text("KEY=canary\n")
    (home / ".env").chmod(0o600)
    yield home
    shutil.rmtree(base)


def _told(home: Path, script: str) -> str:
    done = subprocess.run(
        ["setpriv", "--bounding-set=-sys_admin", sys.executable, "-c", _RUN, str(home), script],
        cwd=ROOT,
        env=PLAIN,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_command_runs_where_modes_let_it_pass(home: Path) -> None:
    told = _told(home, "pwd; id -un; cat ../../../.env; ls ../../..")
    assert f"{home}/agents/habakkuk/workspace\nhabakkuk-agent\n" in told
    assert "canary" not in told
    assert told.lower().count("permission denied") == 2


def test_a_closed_folder_above_is_named_with_what_to_do(home: Path) -> None:
    home.chmod(0o700)
    told = _told(home, "echo ran")
    assert told.startswith("refused: ")
    assert f"chmod o+x {home}" in told


@pytest.mark.parametrize("place", ["config.yaml", "agents/habakkuk/notes.md"])
def test_a_file_that_others_could_read_refuses_commands(place: str, home: Path) -> None:
    (home / place).write_text("canary")
    (home / place).chmod(0o644)
    told = _told(home, f"cat {home}/{place}")
    assert told.startswith("refused: ")
    assert str(home / place) in told
    assert str(home / place) in _told(home, "walls")


def test_doctor_has_nothing_to_say_when_modes_hold(home: Path) -> None:
    assert _told(home, "walls") == "\n"
