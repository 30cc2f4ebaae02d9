"""A process that gave up being inspected: its environment is closed to others of its user."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize(
    ("before", "after"), [(0o022, 0o026), (0o000, 0o026), (0o077, 0o077), (0o027, 0o027)]
)
def test_new_files_are_closed_to_others_and_what_was_closed_stays_so(
    before: int, after: int
) -> None:
    found = os.umask(before)
    try:
        hardening.keep_files_closed()
    finally:
        result = os.umask(found)
    assert result == after
