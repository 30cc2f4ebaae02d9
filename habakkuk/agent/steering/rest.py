"""Guidance and pauses as a turn meets them: between its steps, never inside one."""

from __future__ import annotations

from habakkuk.agent.run import TurnRun
from habakkuk.agent.steering import store
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage, Outcome
from habakkuk.db.engine import Work
from habakkuk.events.types import EventType
from habakkuk.llm.types import Block, Message, Text, ToolResult

_LEAD = "[While you work the user adds:]\n"
_PAUSED = "Paused. /resume goes on, /stop ends it."


def with_news(work: Work, run: TurnRun, message: Message) -> tuple[Message, store.News | None]:
    """Return results of calls with the guidance that came meanwhile behind them. After a guard.

    So it reaches the very next model call. Of another message nothing changes.
    """
    if not any(isinstance(block, ToolResult) for block in message.blocks):
        return message, None
    found = store.news(work, run.turn.id)
    if not found.guidance:
        return message, found
    blocks: list[Block] = [Text(text=_LEAD, note=True)]
    blocks += [Text(text=body) for body in found.guidance]
    return Message(message.role, (*message.blocks, *blocks)), found


def rests(run: TurnRun, step: int) -> bool:
    """Park a turn that a person paused; False when it goes on. Raises Interrupted.

    It says so in the chat, once a pause.
    """
    context, turn = run.context, run.turn
    context.failpoints.hit("turn.pause.before")
    with context.database.transaction() as work:
        addresses.lock_by_id(work, turn.conversation_id)
        context.guard(work)
        if not store.paused(work, turn.id):
            return False
        if store.tell(work, turn.id):
            row = NewChatMessage(
                Author.SYSTEM,
                _PAUSED,
                ChatState.SENT,
                ChatKind.EVENT,
                {"paused": True},
                turn_id=turn.id,
                target=turn.target,
            )
            chat.add(work, turn.conversation_id, row)
    context.failpoints.hit("turn.pause.after")
    if not context.park():
        return False
    run.events.emit(EventType.TURN_WAITING, step)
    return True


def settled(run: TurnRun, outcome: Outcome) -> bool:
    """Settle guidance that a turn, which makes no further call, has not read; False for none.

    It becomes a turn of its own, or is withdrawn with a turn that was stopped. Raises Interrupted.
    """
    context, turn = run.context, run.turn
    with context.database.transaction() as work:
        addresses.lock_by_id(work, turn.conversation_id)
        context.guard(work)
        if not store.unsteer(work, turn):
            return False
        if outcome is Outcome.CANCELLED:
            chat.withdraw(work, turn.conversation_id, turn.id)
        else:
            store.follow_up(work, turn)
    context.failpoints.hit("turn.follow_up.after")
    return True
