"""What comes before a call that may change the workspace.

No undo may be at work there, and the first call of a turn finds the workspace kept as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from habakkuk.agent.run import TurnRun
from habakkuk.agent.undo import store as undo
from habakkuk.conversations.store import chat
from habakkuk.core.errors import ToolError
from habakkuk.core.text import shorten
from habakkuk.llm.types import ToolCall
from habakkuk.tools.checkpoints.service import turn_id
from habakkuk.tools.checkpoints.types import Kind, Label
from habakkuk.tools.contract import Risk, Tool
from habakkuk.tools.paths import inside

_REQUEST = 200
# One that was cut short may wait for its next try; a turn does not wait for ever.
UNDO_SECONDS = 150.0
_POLL_SECONDS = 0.1
_TAKEN_BACK = (
    "{tool} was not run: changes in this workspace are being taken back at the moment. Try again"
    " later, or tell the user."
)
_CHANGING = frozenset({Risk.WRITE, Risk.EXECUTE})


def keep_workspace(run: TurnRun, calls: Sequence[tuple[Tool, ToolCall]]) -> dict[str, str]:
    """Make the turn's checkpoint when one of these calls may change the workspace.

    Returns why calls may not run after all, by their ids: an undo that does not come to its end.
    Before the calls are journalled: a crash between the two leaves a checkpoint of the same state,
    which the turn finds when it goes on. Raises Interrupted and DatabaseAway, as a turn does.
    """
    workspace = run.ports.workspace(run.turn.agent)
    changing = [call for tool, call in calls if may_change(tool, call, workspace)]
    if not changing or not run.ports.checkpoints.enabled(run.turn.agent):
        return {}
    if not _free_of_undo(run):
        return {call.id: _TAKEN_BACK.format(tool=call.name) for call in changing}
    if run.turn.id not in run.kept:
        _keep(run)
    return {}


def _free_of_undo(run: TurnRun) -> bool:
    """Wait while an undo brings the workspace back; False when it takes too long.

    The job of this turn runs: an undo that comes from now on sees that, and gives up.
    """
    context, clock = run.context, run.ports.clock
    until = clock.monotonic() + UNDO_SECONDS
    while undo.holds(context.database, run.turn.agent):
        if clock.monotonic() > until:
            return False
        context.interrupt.wait(_POLL_SECONDS)
        context.interrupt.check()
    return True


def _keep(run: TurnRun) -> None:
    turn, checkpoints = run.turn, run.ports.checkpoints
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
