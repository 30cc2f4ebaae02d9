"""A call that takes its worker with it, as one does whose memory the kernel refuses."""

from __future__ import annotations

from pathlib import Path

from habakkuk.core.config.environment import read_environment
from habakkuk.core.failpoints import Failpoints
from habakkuk.tools.contract import Risk, ToolArgs, ToolContext, ToolOutput, tool

POINT = "poison"
_LOG = "HABAKKUK_FAILPOINT_LOG"


class DieArgs(ToolArgs):
    """Nothing."""


@tool(risk=Risk.READ, timeout_s=30, replayable=True)
def die(args: DieArgs, context: ToolContext) -> ToolOutput:
    """Kill the worker, each time again."""
    del args, context
    log = read_environment().get(_LOG)
    Failpoints(f"{POINT}=1", Path(log) if log else None).hit(POINT)
    return ToolOutput("alive")
