"""Follow what came from outside through the files of a workspace."""

from __future__ import annotations

import posixpath
from collections.abc import Collection

from habakkuk.agent.offered import available
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import taints
from habakkuk.conversations.store.taints import Touched
from habakkuk.core.errors import ToolError
from habakkuk.core.text import clean
from habakkuk.db.engine import Work
from habakkuk.llm.types import ToolCall, ToolResult
from habakkuk.tools.contract import Risk

# An index takes 2,704 bytes, and a character has four at most.
_LONGEST = 500


def about_to_write(run: TurnRun, work: Work, call: ToolCall) -> None:
    """Mark what a call is about to write, in the transaction that lets it start."""
    touched = _touched(run, call, (Risk.WRITE,))
    if touched is not None:
        taints.mark(work, touched)


def has_read(run: TurnRun, work: Work, call: ToolCall, result: ToolResult) -> None:
    """Carry the mark of what a call has read over to its turn.

    A change that does not fit has read, too: it says what stands there instead.
    """
    touched = _touched(run, call, (Risk.READ, Risk.WRITE) if result.is_error else (Risk.READ,))
    if touched is not None:
        taints.taint_reader(work, touched, result.text)


def _touched(run: TurnRun, call: ToolCall, risks: Collection[Risk]) -> Touched | None:
    tool = available(run.ports.tools, run.agent).get(call.name)
    if tool is None or tool.paths is None:
        return None
    try:
        args = tool.parse(call.input)
    except ToolError:
        return None
    if tool.risk_with(args) not in risks:
        return None
    workspace = str(run.ports.workspace(run.turn.agent))
    joined = (posixpath.normpath(posixpath.join(workspace, path)) for path in tool.paths(args))
    # A longer path counts as all those that begin so.
    paths = [clean(path)[:_LONGEST] for path in joined]
    return Touched(run.turn.agent, run.turn.id, paths) if paths else None
