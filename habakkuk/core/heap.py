"""The C library's heap, for processes that should hold no more than they use."""

from __future__ import annotations

import ctypes
import sys

_M_ARENA_MAX = -8  # glibc: malloc.h


def use_one_heap() -> None:
    """Give all threads one heap, before there are any. Nothing where the C library has no such.

    Python's threads allocate one at a time, so heaps of their own save no waiting: they only keep
    what their threads have freed.
    """
    if _is_glibc():
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 1)


def give_back() -> None:
    """Give the system what is free. Nothing where the C library has no such."""
    if _is_glibc():
        ctypes.CDLL(None).malloc_trim(0)


def _is_glibc() -> bool:
    return sys.platform == "linux" and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")
