"""The probe program ends cleanly while the pipe from its worker is still open."""

from __future__ import annotations

import os
import subprocess
import sys

from workers.probe import await_word

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


def test_it_ends_when_its_worker_says_so_and_goes_on_when_that_is_killed() -> None:
    """Where workers die one after the other, a probe that died with each would never run a job."""
    told: list[str] = []
    for word, expected in ((b"end", ["told"]), (b"", [])):
        reader, writer = os.pipe()
        os.write(writer, word)
        os.close(writer)
        told.clear()
        await_word(lambda: told.append("told"), reader)
        os.close(reader)
        assert told == expected
