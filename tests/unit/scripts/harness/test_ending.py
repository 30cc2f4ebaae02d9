"""A program that is told to end, wherever it just is."""

import subprocess
import sys

import pytest

from habakkuk.ops.processes import ROOT

_PROGRAM = """
import os, signal, time
from scripts.harness.ending import end_cleanly_when_told

class Held:
    def __del__(self):
        {in_finalizer}

end_cleanly_when_told()
held = Held()
try:
    del held
    {outside}
    time.sleep(30)
    print("went on")
finally:
    print("cleaned up")
"""
_TELL = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    ("in_finalizer", "outside"), [(_TELL, "pass"), ("pass", _TELL)], ids=["finalizer", "plain"]
)
def test_it_ends_through_its_cleaning_up(in_finalizer: str, outside: str) -> None:
    program = _PROGRAM.format(in_finalizer=in_finalizer, outside=outside)
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=25,
    )
    assert (ended.returncode, ended.stdout) == (130, "cleaned up\n"), ended.stderr
