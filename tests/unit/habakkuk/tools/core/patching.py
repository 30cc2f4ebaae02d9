"""Patches in the two forms that apply_patch takes."""

from __future__ import annotations

from pathlib import Path

from habakkuk.tools.contract import ToolOutput
from habakkuk.tools.core.apply_patch import apply_patch
from tests.fakes.toolbox import call, context


def put(ws: Path, patch: str) -> ToolOutput:
    return call(apply_patch, context(ws), patch=patch)


def begun(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])


def unified(*lines: str, name: str = "f.py") -> str:
    return "\n".join([f"--- a/{name}", f"+++ b/{name}", *lines, ""])
