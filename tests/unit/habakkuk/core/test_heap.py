"""One heap for all threads, and what is free given back."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="glibc's heap")
# A heap of a thread's own is a mapping apart, so with one heap all big blocks are neighbours.
_THREADS = """
import ctypes, sys, threading
from habakkuk.core.heap import use_one_heap
use_one_heap()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.sbrk.restype = ctypes.c_void_p
found = []
thread = threading.Thread(target=lambda: found.append(libc.malloc(5000)))
thread.start()
thread.join()
sys.exit(not found[0] < libc.sbrk(0))
"""
_FREED = """
import sys
from pathlib import Path
from habakkuk.core.heap import give_back
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1])
blocks = [bytearray(5000) for _ in range(20_000)]
last = bytearray(5000)
del blocks
before = resident()
give_back()
sys.exit(not before - resident() > 10_000)
"""


@pytest.mark.parametrize("program", [_THREADS, _FREED], ids=["one heap", "given back"])
def test_the_heap_is_held_small(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == 0
