"""/steer: guide the turn that runs."""

from __future__ import annotations

from habakkuk.accounts.types import Role
from habakkuk.agent.steering import store
from habakkuk.agent.steering.guidance import guide
from habakkuk.commands.contract import CommandContext, command


def _steered(context: CommandContext) -> store.Begun | None:
    """Return the turn that the sender may guide, None when nothing of theirs runs here."""
    user, conversation = context.user, context.conversation
    found = store.begun(context.work, conversation.id, conversation.session_id)
    own = (turn for turn in found if turn.user_id == user.id or user.role is Role.OWNER)
    return next(own, None)


@command("steer", usage="<text>", ordinary=lambda context: _steered(context) is None)
def steer(context: CommandContext, text: str) -> str:
    """Guide the running turn: the agent reads it with the results of its next step."""
    turn, conversation = _steered(context), context.conversation
    if not text or turn is None:
        return "Write what the agent shall know after /steer."
    guide(context.work, conversation.id, turn.id, context.user.id, text)
    return "The agent reads it with its next step, or right after this answer."
