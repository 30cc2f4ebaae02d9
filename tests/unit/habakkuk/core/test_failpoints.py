"""Points where a drill may kill the process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError
from habakkuk.core.failpoints import Failpoints

_PROGRAM = """
import sys
from pathlib import Path
from habakkuk.core.failpoints import Failpoints
points = Failpoints(sys.argv[1], Path(sys.argv[2]))
for name in sys.argv[3:]:
    points.hit(name)
    print(name, flush=True)
"""


def run(tmp_path: Path, spec: str, *names: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM, spec, str(tmp_path / "log"), *names]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("spec", "passed"),
    [
        ("b=1", ["a"]),
        ("a=#2", ["a", "b"]),
        ("x=1, b=#1", ["a"]),
        ("*=1.0", []),
        ("*=#4", ["a", "b", "a"]),
        ("b=0,*=1", []),
    ],
)
def test_the_process_is_killed_at_the_armed_point(
    tmp_path: Path, spec: str, passed: list[str]
) -> None:
    done = run(tmp_path, spec, "a", "b", "a", "b")
    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == passed
    (line,) = (tmp_path / "log").read_text().splitlines()
    assert line.split()[0] == ["a", "b", "a", "b"][len(passed)]


@pytest.mark.parametrize("spec", ["", " , ", "c=1", "a=0", "a=#3", "*=0"])
def test_nothing_happens_at_other_points(tmp_path: Path, spec: str) -> None:
    done = run(tmp_path, spec, "a", "b", "a", "b")
    assert done.returncode == 0
    assert done.stdout.split() == ["a", "b", "a", "b"]
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("spec", ["a", "a=", "a=often", "a=#", "a=#x"])
def test_a_spec_that_cannot_be_read_is_refused(spec: str) -> None:
    with pytest.raises(ConfigurationError, match="neither name=probability nor name=#n"):
        Failpoints(spec)
