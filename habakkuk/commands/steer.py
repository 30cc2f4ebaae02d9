"""/steer: guide the turn that runs."""

from __future__ import annotations

from habakkuk.agent.steering import store
from habakkuk.agent.steering.guidance import Guidance, guide
from habakkuk.commands.contract import CommandContext, Words, command
from habakkuk.commands.reach import within_reach
from habakkuk.conversations.types import OUTSIDE


def _steered(context: CommandContext) -> store.Begun | None:
    """Return the turn that the sender may guide, None when nothing of theirs runs here."""
    conversation = context.conversation
    found = within_reach(context, store.begun(context.work, conversation.id))
    # What is left behind in an earlier session is not what a person thinks of while they write.
    here = () if isinstance(found, str) else found
    return next((turn for turn in here if turn.session_id == conversation.session_id), None)


def _instead(context: CommandContext, text: str) -> Words | None:
    """Where there is nothing to guide, it is an ordinary message."""
    return Words(text, alone=False) if text and _steered(context) is None else None


@command("steer", usage="<text>", words=_instead)
def steer(context: CommandContext, text: str) -> str:
    """Guide the running turn: the agent reads it with the results of its next step."""
    turn, conversation = _steered(context), context.conversation
    if not text or turn is None:
        return "Write what the agent shall know after /steer."
    # Left unread it becomes a turn of its own, which is as foreign.
    data = {OUTSIDE: True} if context.outside else {}
    guide(context.work, conversation.id, turn.id, Guidance(text, context.user.id, data))
    context.heard(turn.id, text)
    return "The agent reads it with its next step, or right after this answer."
