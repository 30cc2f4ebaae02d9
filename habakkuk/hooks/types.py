"""What hooks hear of."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class HookEvent(StrEnum):
    """What a hook can wait for. TOOL_BEFORE alone is waited for, and can forbid what it hears of.

    The subject that a hook's `match` looks at is the tool's name for tools, the agent for turns and
    sessions, the channel's account for messages (seed, Hooks).
    """

    TURN_START = "turn_start"
    TURN_END = "turn_end"
    TOOL_BEFORE = "tool_before"
    TOOL_AFTER = "tool_after"
    MESSAGE_IN = "message_in"
    MESSAGE_OUT = "message_out"
    SESSION_NEW = "session_new"


@dataclass(frozen=True)
class Happening:
    """Something that happened or is about to. `data` is JSON; it goes to the hook's input."""

    event: HookEvent
    subject: str
    data: dict[str, Any] = field(default_factory=dict)
