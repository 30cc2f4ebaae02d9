"""Put a question of a call to a person: the call waits and the chat shows it, or neither.

The question is a row of the chat, so that it survives everything and is shown once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import addresses, chat
from habakkuk.conversations.types import Author, ChatKind, ChatState, NewChatMessage
from habakkuk.db.engine import Work
from habakkuk.events.types import EventType
from habakkuk.jobs.types import NewWait
from habakkuk.llm.types import ToolCall


@dataclass(frozen=True)
class Put:
    """A question as people see it: in one line of the chat, and whole where it goes outside.

    `buttons` (label, data) stand below it where the platform has some.
    """

    kind: ChatKind
    event: EventType
    line: str
    outside: str
    buttons: Sequence[tuple[str, str]] = ()


def put(
    run: TurnRun, step: int, call: ToolCall, wait: NewWait, shown: Put, hold: Callable[[Work], bool]
) -> None:
    """Open the wait of a call and show its question.

    `hold` notes in the journal that the call waits, and returns False when it was given up
    meanwhile; what it raises leaves nothing behind. Raises Interrupted(LEASE_LOST).
    """
    turn, context = run.turn, run.context
    context.failpoints.hit("question.ask.before")
    with context.database.transaction() as work:
        addresses.lock_by_id(work, turn.conversation_id)
        context.guard(work)
        if hold(work):
            context.open_wait(work, wait)
            row = NewChatMessage(
                Author.SYSTEM,
                shown.line,
                ChatState.SENT,
                shown.kind,
                {str(shown.kind): wait.id, **wait.payload},
                turn_id=turn.id,
                target=turn.target,
                outside=shown.outside,
                buttons=shown.buttons,
            )
            chat.add(work, turn.conversation_id, row)
    context.failpoints.hit("question.ask.after")
    run.ports.signs.waits(turn.id)
    run.events.emit(shown.event, step, call=call.id, **{str(shown.kind): wait.id})
