"""A process that gave up being inspected: its environment is closed to others of its user."""

from __future__ import annotations

import subprocess
import sys

import pytest

from habakkuk.core import hardening

_PROGRAM = """
import ctypes
from habakkuk.core.hardening import forbid_inspection
before = ctypes.CDLL(None).prctl(3)
print(before, forbid_inspection(), ctypes.CDLL(None).prctl(3))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a Linux call")
def test_the_process_is_no_longer_open_to_others() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "True", "0"]


def test_elsewhere_nothing_is_done_and_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not hardening.forbid_inspection()
