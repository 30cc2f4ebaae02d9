"""What an agent's mode does with a tool in general, told from what it decides on examples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import Tool, ToolArgs, nothing
from habakkuk.tools.permissions import Taint, Verdict, decide

_WORKSPACE = Path("/workspace")
_INSIDE, _OUTSIDE = "file", "/elsewhere/file"


@dataclass(frozen=True)
class Outlook:
    """The verdicts: inside the workspace, outside it, and once the turn read outside content."""

    inside: Verdict
    outside: Verdict
    tainted: Verdict


def outlook(mode: PermissionMode, tool: Tool) -> Outlook:
    """Return what `mode` does with the tool's calls."""
    return Outlook(
        _verdict(mode, tool, _INSIDE),
        _verdict(mode, tool, _OUTSIDE),
        _verdict(mode, tool, _INSIDE, tainted=True),
    )


def _verdict(mode: PermissionMode, tool: Tool, path: str, *, tainted: bool = False) -> Verdict:
    # Of one that some calls of do more, what they all do is told.
    tool = replace(tool, risk_of=None)
    touching = tool if tool.paths in (None, nothing) else replace(tool, paths=lambda _args: [path])
    taint = Taint(said=lambda _: False) if tainted else None
    return decide(mode, touching, ToolArgs(), _WORKSPACE, taint).verdict
