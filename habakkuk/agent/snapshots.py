"""Keep the workspace as it is before the first call of a turn that may change it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import chat
from habakkuk.core.errors import ToolError
from habakkuk.core.text import shorten
from habakkuk.llm.types import ToolCall
from habakkuk.tools.checkpoints.service import turn_id
from habakkuk.tools.checkpoints.types import Kind, Label
from habakkuk.tools.contract import Risk, Tool
from habakkuk.tools.workspace import inside

_REQUEST = 200
_CHANGING = frozenset({Risk.WRITE, Risk.EXECUTE})


def keep_workspace(run: TurnRun, calls: Sequence[tuple[Tool, ToolCall]]) -> None:
    """Make the turn's checkpoint when one of these calls may change the workspace.

    Before the calls are journalled: a crash between the two leaves a checkpoint of the same state,
    which the turn finds when it goes on. Raises Interrupted and DatabaseAway, as a turn does.
    """
    turn, checkpoints = run.turn, run.ports.checkpoints
    workspace = run.ports.workspace(turn.agent)
    if not any(may_change(tool, call, workspace) for tool, call in calls):
        return
    if turn.id in run.kept or not checkpoints.enabled(turn.agent):
        return
    said = chat.said_to(run.context.database, turn.conversation_id, turn.id)
    request = shorten(run.ports.redactor.text(said), _REQUEST)
    label = Label(
        turn_id(turn.id), Kind.TURN, turn.session_id, turn.conversation_id, turn.id, request
    )
    checkpoints.before(turn.agent, label, run.context.interrupt)
    # Asked for once in a run, also when it could not be made.
    run.kept.add(turn.id)


def may_change(tool: Tool, call: ToolCall, workspace: Path) -> bool:
    """Whether a call writes to the workspace, or runs something in it."""
    if tool.risk not in _CHANGING or tool.own_state or tool.paths is None:
        return False
    try:
        return any(_is_inside(path, workspace) for path in tool.paths(tool.parse(call.input)))
    except ToolError:
        # It is refused before it changes anything.
        return False


def _is_inside(path: str, workspace: Path) -> bool:
    try:
        inside(path, workspace)
    except ToolError:
        return False
    return True
