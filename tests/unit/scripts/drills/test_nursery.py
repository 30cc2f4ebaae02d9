"""What a drill can rely on when it ends a fork."""

from __future__ import annotations

import signal
import subprocess
import threading
from pathlib import Path

from scripts.drills.nursery import Fork


def test_a_fork_that_leads_no_group_yet_is_ended_too(tmp_path: Path) -> None:
    """One that was killed in its first moment lived on and took the next test's work."""
    codes: dict[int, int] = {}
    begun = subprocess.Popen(["sleep", "60"])
    reaper = threading.Thread(target=lambda: codes.update({begun.pid: begun.wait()}))
    reaper.start()
    fork = Fork("young", begun.pid, tmp_path / "log", codes)
    fork.kill()
    reaper.join()
    assert fork.code == -signal.SIGKILL
