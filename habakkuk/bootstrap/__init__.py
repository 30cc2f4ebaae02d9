"""The composition root: every part of a process is made here, once, from its settings."""

from __future__ import annotations

from habakkuk.bootstrap.assembly import build
from habakkuk.bootstrap.container import Container

__all__ = ["Container", "build"]
