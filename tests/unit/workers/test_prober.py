from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from workers.prober import Prober


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for the probe: notes its start, ends when its input does."""
    out = tmp_path / "out"
    (tmp_path / "standin.py").write_text(
        f"import sys\nfrom pathlib import Path\nout = Path({str(out)!r})\n"
        "out.open('a').write(' '.join(['start', *sys.argv[1:]]) + '\\n')\n"
        "sys.stdin.read()\nout.open('a').write('end\\n')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert sys.executable
    return out


def lines(out: Path) -> list[str]:
    return out.read_text().split() if out.exists() else []


def test_one_probe_runs_at_a_time_and_ends_with_its_pipe(program: Path) -> None:
    prober = Prober("standin", program.parent)
    prober.start()
    prober.start()
    while lines(program) != ["start"]:
        time.sleep(0.001)
    prober.stop()
    assert lines(program) == ["start", "end"]


def test_a_stopped_prober_starts_nothing(program: Path) -> None:
    prober = Prober("standin", program.parent)
    prober.stop()
    prober.start()
    prober.stop()
    assert lines(program) == []


def test_the_probe_is_told_which_queues_its_worker_serves(program: Path) -> None:
    prober = Prober("standin", program.parent)
    prober.start(["turns.here"])
    while not lines(program):
        time.sleep(0.001)
    prober.stop()
    assert lines(program) == ["start", "turns.here", "end"]


def test_two_workers_of_a_host_start_one_probe_between_them(program: Path) -> None:
    """Its start costs seconds of processor time, just when workers are dying."""
    first, second = (Prober("standin", program.parent) for _ in range(2))
    first.start()
    while not lines(program):
        time.sleep(0.001)
    second.start()
    second.stop()
    assert lines(program) == ["start"]
    first.stop()
    third = Prober("standin", program.parent)
    third.start()
    while lines(program) != ["start", "end", "start"]:
        time.sleep(0.001)
    third.stop()
