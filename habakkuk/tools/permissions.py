"""What a call may do without asking: the agent's mode against the tool's risk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import Risk, Tool, ToolArgs

_READ_ONLY = "this agent may only read; its permissions are read-only"


class Verdict(StrEnum):
    """What is to be done with a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True)
class Decision:
    """The verdict and why, for whoever is asked or refused."""

    verdict: Verdict
    why: str = ""


def decide(
    mode: PermissionMode, tool: Tool, args: ToolArgs, workspace: Path, *, tainted: bool
) -> Decision:
    """Decide on one call. `tainted`: the turn has read outside content, which may have a will.

    Then what runs is asked for in every mode but read-only, where it is refused anyway.
    """
    risk = tool.risk_with(args)
    if risk is Risk.READ:
        return Decision(Verdict.ALLOW)
    if mode is PermissionMode.READ_ONLY:
        return Decision(Verdict.DENY, _READ_ONLY)
    if tainted and risk is Risk.EXECUTE:
        return Decision(Verdict.ASK, "this turn has read content from outside")
    if mode is PermissionMode.FULL:
        return Decision(Verdict.ALLOW)
    if mode is PermissionMode.WORKSPACE and _is_free_in_workspace(tool, args, workspace):
        return Decision(Verdict.ALLOW)
    return Decision(Verdict.ASK, f"permissions are {mode}")


def _is_free_in_workspace(tool: Tool, args: ToolArgs, workspace: Path) -> bool:
    if tool.own_state:
        return True
    if tool.risk_with(args) is not Risk.WRITE or tool.paths is None:
        return False
    return _all_inside(tool.paths(args), workspace)


def _all_inside(paths: Sequence[str], workspace: Path) -> bool:
    """Whether every path is inside by its text. What it leads to is the tool's own guard."""
    for path in paths:
        joined = PurePosixPath(workspace) / path
        if ".." in joined.parts or not joined.is_relative_to(PurePosixPath(workspace)):
            return False
    return True
