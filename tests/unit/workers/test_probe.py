"""The probe program ends cleanly while the pipe from its worker is still open."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from workers.probe import run_until_told
class Done:
    def run(self):
        return 0
    def stop(self):
        pass
run_until_told(Done())
"""


def test_it_ends_cleanly_while_its_worker_still_holds_the_pipe() -> None:
    reader, writer = os.pipe()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        stdin=reader,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    os.close(reader)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
