"""Whose turns a command may end, hold and guide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from habakkuk.commands.contract import CommandContext


class _OfSomebody(Protocol):
    """A turn, as far as it matters here."""

    @property
    def session_id(self) -> str: ...

    @property
    def user_id(self) -> str | None: ...


Found = TypeVar("Found", bound=_OfSomebody)


def within_reach(
    context: CommandContext, found: Sequence[Found], what: str = "running"
) -> Sequence[Found] | str:
    """Return those of a conversation's turns that the sender decides about, the session's first.

    With a session named only its own. Where there are none, the sentence that says so: `what` is
    what they would be.
    """
    here = context.conversation.session_id
    near = [turn for turn in found if turn.session_id == here or not context.session_named]
    own = [turn for turn in near if context.user.decides_for(turn.user_id)]
    if own:
        return sorted(own, key=lambda turn: turn.session_id != here)
    if near:
        return f"What is {what} here is for somebody else; only they or an owner decide about it."
    return f"Nothing is {what} here."
