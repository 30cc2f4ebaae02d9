"""Live events as they travel (design: blueprint §9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

from habakkuk.core.redis import PREFIX

LIVE_CHANNEL = PREFIX + "live"
VERSION = 1


class EventType(StrEnum):
    """What clients see happen: in a turn, and last to what waits for one."""

    TURN_STARTED = "turn.started"
    TEXT = "text.delta"
    THINKING = "thinking.delta"
    TOOL_STARTED = "tool.started"
    TOOL_FINISHED = "tool.finished"
    STEP_RESET = "step.reset"
    STEP_DONE = "step.done"
    REVIEW = "review"
    APPROVAL = "approval.asked"
    QUESTION = "question.asked"
    TURN_WAITING = "turn.waiting"
    TURN_ENDED = "turn.ended"
    QUEUE_CHANGED = "queue.changed"


@dataclass(frozen=True)
class Event:
    """One event. (fence, number) orders the events of a session and names this one."""

    type: EventType
    session: str
    turn: str
    fence: int
    number: int
    step: int
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def position(self) -> tuple[int, int]:
        """Its place in the session's stream."""
        return (self.fence, self.number)

    def encode(self) -> str:
        """Return the event as JSON text."""
        return orjson.dumps(
            {
                "v": VERSION,
                "type": self.type,
                "session": self.session,
                "turn": self.turn,
                "fence": self.fence,
                "n": self.number,
                "step": self.step,
                "data": self.data,
            }
        ).decode()

    @classmethod
    def decode(cls, raw: str) -> Event | None:
        """Return the event of JSON text, None when it is of another version or no event."""
        try:
            value = orjson.loads(raw)
            if value["v"] != VERSION:
                return None
            return cls(
                EventType(value["type"]),
                value["session"],
                value["turn"],
                value["fence"],
                value["n"],
                value["step"],
                value["data"],
            )
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return None


def stream_key(session: str) -> str:
    """Return the Redis stream of a session."""
    return f"{PREFIX}ev:{session}"
