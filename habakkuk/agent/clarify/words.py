"""Questions of an agent as people see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from habakkuk.agent.putting import Put
from habakkuk.conversations.types import ChatKind
from habakkuk.core.text import shorten
from habakkuk.events.types import EventType
from habakkuk.tools.asking import EXPIRES_SECONDS, in_words

BUSY = (
    "another question waits for the user's answer, so this one was not asked; put everything that"
    " you want to know into one call"
)
_HOW = f"Your next message here is the answer; after {EXPIRES_SECONDS / 60:.0f} minutes it goes on"
_LONGEST = 200


def put(agent: str, questions: Sequence[dict[str, Any]]) -> Put:
    """Return what is shown of questions."""
    first = shorten(questions[0]["question"], _LONGEST)
    more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
    return Put(
        ChatKind.QUESTION,
        EventType.QUESTION,
        f"{agent} asks: {first}{more}",
        f"{in_words(questions)}\n\n{_HOW} without.",
    )
