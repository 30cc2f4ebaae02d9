"""When a turn has had enough: steps, time, tokens, circles."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from habakkuk.agent.guard import circle
from habakkuk.agent.run import TurnRun
from habakkuk.conversations.store import usage
from habakkuk.llm.types import Message


def exceeded(
    run: TurnRun, asked: int, began: datetime, own_messages: Sequence[Message]
) -> str | None:
    """Return why the turn must not call the model again, None when it may.

    `asked` is how often it has called it, `own_messages` what it has written so far.
    """
    found = circle(own_messages)
    if found is not None and found.stop:
        return f"Stopped because it went in circles: {found.text}."
    if asked >= run.agent.max_steps:
        return f"Stopped after {run.agent.max_steps} steps without a final answer."
    return _late(run, began) or _costly(run, asked)


def _late(run: TurnRun, began: datetime) -> str | None:
    limit = run.agent.turn_timeout
    used = (run.ports.clock.now() - began).total_seconds()
    if used > limit:
        # The time in which it waited for a person, or for a server that was off, is not its own.
        used -= run.context.waited()
    return (
        f"Stopped after {used / 60:.0f} minutes without a final answer." if used > limit else None
    )


def _costly(run: TurnRun, asked: int) -> str | None:
    # Most turns call the model once: nothing is looked up for them.
    used = usage.of_turn(run.context.database, run.turn.id) if asked else 0
    if used <= run.agent.max_turn_tokens:
        return None
    return f"Stopped after {used:,} tokens without a final answer."
