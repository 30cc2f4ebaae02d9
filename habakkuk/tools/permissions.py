"""What a call may do without asking: the agent's mode against the tool's risk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import Risk, Tool, ToolArgs

_TAINTED = "this turn has read content from outside"
_READ_ONLY = "this agent may only read; its permissions are read-only"


class Verdict(StrEnum):
    """What is to be done with a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True)
class Taint:
    """What is known of a turn that has read outside content.

    `said` tells whether the user or what was read has said a text, letter for letter: then it
    carries nothing that was not theirs.
    """

    said: Callable[[str], bool]


@dataclass(frozen=True)
class Decision:
    """The verdict and why, for whoever is asked or refused."""

    verdict: Verdict
    why: str = ""


def decide(
    mode: PermissionMode, tool: Tool, args: ToolArgs, workspace: Path, taint: Taint | None = None
) -> Decision:
    """Decide on one call. `taint`: the turn has read outside content, which may have a will.

    Then what runs is asked for in every mode but read-only, where it is refused anyway, and so is
    every address that the agent has put together: it can carry what was read here to somebody.
    """
    risk = tool.risk_with(args)
    if risk is Risk.READ or (tool.free is not None and tool.free(args, workspace)):
        return Decision(Verdict.ALLOW)
    if mode is PermissionMode.READ_ONLY:
        return Decision(Verdict.DENY, _READ_ONLY)
    if taint is not None and risk is Risk.EXECUTE:
        return Decision(Verdict.ASK, _TAINTED)
    if taint is not None and risk is Risk.NETWORK and not _all_known(tool, args, taint):
        return Decision(Verdict.ASK, f"{_TAINTED}, and nobody has named this address so far")
    if mode is PermissionMode.FULL:
        return Decision(Verdict.ALLOW)
    if mode is PermissionMode.WORKSPACE and _is_free_in_workspace(tool, args, workspace):
        return Decision(Verdict.ALLOW)
    return Decision(Verdict.ASK, f"permissions are {mode}")


def _all_known(tool: Tool, args: ToolArgs, taint: Taint) -> bool:
    # What does not say where it goes may go anywhere.
    return tool.paths is not None and all(map(taint.said, tool.paths(args)))


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
