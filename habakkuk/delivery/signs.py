"""What people of a platform see of a turn before its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from habakkuk.channels.registry import Channels
from habakkuk.conversations.types import Outcome, Target, Turn
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database
from habakkuk.delivery.asides import Asides
from habakkuk.delivery.progress import Progress
from habakkuk.delivery.reactions import Reactions
from habakkuk.delivery.typing import Typing


class Signs:
    """That somebody types, reactions, and messages of progress. No turn ever waits for one."""

    def __init__(self, channels: Channels, database: Database, failpoints: Failpoints) -> None:
        """Use the accounts of this process; no thread runs before there is something to show."""
        self._asides = Asides(channels)
        self._typing = Typing(self._asides)
        self._reactions = Reactions(self._asides)
        self._progress = Progress(database, self._asides, failpoints)

    def typing(self, target: Target | None) -> AbstractContextManager[None]:
        """Show inside the block that an answer is on its way."""
        return self._typing.showing(target)

    @contextmanager
    def running(self, turn: Turn) -> Iterator[None]:
        """Show inside the block that a turn runs, and what it does."""
        self._reactions.began(turn.target)
        with self._typing.showing(turn.target), self._progress.following(turn):
            yield

    def called(self, turn_id: str, line: str) -> None:
        """Note a call of a turn, told in a line."""
        self._progress.called(turn_id, line)

    def waits(self, turn_id: str) -> None:
        """Note that a turn asks a person."""
        self._progress.waits(turn_id)

    def ended(self, target: Target | None, outcome: Outcome) -> None:
        """Show how a turn ended."""
        self._reactions.ended(target, outcome)

    def stop(self) -> None:
        """Show nothing any more."""
        self._progress.stop()
        self._typing.stop()
        self._asides.stop()
