"""What a checkpoint is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from habakkuk.core.errors import HabakkukError


class Kind(StrEnum):
    """Why a checkpoint was made."""

    TURN = "turn"
    UNDO = "undo"
    ROLLBACK = "rollback"


@dataclass(frozen=True)
class Label:
    """What is written on a checkpoint.

    `restored` names the checkpoint that the workspace was then brought back to.
    """

    id: str
    kind: Kind
    session: str = ""
    conversation: str = ""
    turn: str = ""
    request: str = ""
    restored: str = ""


@dataclass(frozen=True)
class Checkpoint:
    """A state of a workspace; `at` is in seconds since the epoch, `tree` git's name for it."""

    label: Label
    at: float
    tree: str

    @property
    def id(self) -> str:
        """Its name for people."""
        return self.label.id


@dataclass(frozen=True)
class Restored:
    """What a restoring did: git's statistics, and paths that were left alone, with why."""

    stat: str
    left: tuple[str, ...] = ()


class NoCheckpoint(HabakkukError):
    """No checkpoint could be made or used; the text says why, to a person."""
