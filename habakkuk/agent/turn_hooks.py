"""The hooks of turns and sessions, told in the background.

A turn that goes on after a crash tells of its start again: each run of it begins.
"""

from __future__ import annotations

from collections.abc import Callable

from habakkuk.agent.run import TurnRun
from habakkuk.conversations.types import Outcome
from habakkuk.hooks.types import Happening, HookEvent


def of_turn(run: TurnRun) -> dict[str, object]:
    """Return what each of these events says of its turn."""
    turn = run.turn
    return {
        "agent": turn.agent,
        "session": turn.session_id,
        "turn": turn.id,
        "conversation": turn.conversation_id,
        "user": turn.user_id,
    }


def session_began(run: TurnRun) -> None:
    """Tell of a session's first turn."""
    _tell(run, HookEvent.SESSION_NEW, run.turn.agent)


def began(run: TurnRun, task: Callable[[], str]) -> None:
    """Tell of a run of a turn; `task` is what its user asked for."""
    if run.ports.hooks.hear(HookEvent.TURN_START):
        _tell(run, HookEvent.TURN_START, run.turn.agent, text=task())


def ended(run: TurnRun, outcome: Outcome, text: str) -> None:
    """Tell of a turn's end, and of the message that goes out with it."""
    _tell(run, HookEvent.TURN_END, run.turn.agent, outcome=outcome, text=text)
    target = run.turn.target
    account = target.account if target is not None else run.turn.origin
    _tell(run, HookEvent.MESSAGE_OUT, account, account=account, text=text)


def _tell(run: TurnRun, event: HookEvent, subject: str, **more: object) -> None:
    if run.ports.hooks.hear(event):
        run.ports.hooks.tell(Happening(event, subject, of_turn(run) | more))
