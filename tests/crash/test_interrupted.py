"""Ctrl+C in the drill: it leaves nothing behind, and complains of nothing."""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from scripts.harness.environment import plain_environment
from scripts.harness.programs import Program

# Others start worlds at the same time.
PATIENCE_SECONDS = 120.0
_FOLDER = re.compile(r"/tmp/hab-drill-\w+")


@pytest.fixture
def drill(tmp_path: Path) -> Iterator[Program]:
    """The main recipe, with all that belongs to its world."""
    command = (sys.executable, "-m", "scripts.drills", "kills", "--seed", "1")
    environment = plain_environment() | {"PYTHONPATH": "."}
    program = Program("drill", command, environment, tmp_path / "log")
    yield program
    program.kill()


def _words(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join([*process.cmdline(), *process.environ().values()])
    return ""


def _folder(drill: Program) -> Path | None:
    """Return the drill's folder once something that it started was told of it."""
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(drill.pid).children(recursive=True):
            if found := _FOLDER.search(_words(process)):
                return Path(found[0])
    return None


def _until(condition: Callable[[], object], drill: Program) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert drill.code is None, drill.last_lines()
        assert time.monotonic() < until, drill.last_lines()
        time.sleep(0.05)


def _starting(folder: Path) -> bool:
    return folder.exists()


def _killing(folder: Path) -> bool:
    return bool((folder / "fired").read_text())


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("moment", [_starting, _killing])
def test_ctrl_c_ends_all_that_the_drill_started(
    drill: Program, moment: Callable[[Path], bool]
) -> None:
    _until(lambda: _folder(drill), drill)
    folder = _folder(drill)
    assert folder is not None
    _until(lambda: moment(folder), drill)
    # As a terminal does: to the whole group, the servers that the drill started among them.
    os.killpg(drill.pid, signal.SIGINT)
    drill.wait(PATIENCE_SECONDS)
    assert drill.code == 130, drill.last_lines()
    assert "Traceback" not in drill.log.read_text()
    assert not folder.exists()
    assert [p for p in psutil.process_iter() if str(folder) in _words(p)] == []
