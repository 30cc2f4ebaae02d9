"""How much of a script is followed: by time, by steps, by how deep commands stand in others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from habakkuk.tools.hardline.values import TooInvolved

# Of the processor: on a busy machine a plain command would otherwise be refused.
_SECONDS = 2.0
_STEPS = 30_000
_DEEPEST = 24  # commands within commands


class Meter:
    """The limits of one check, which is made in one thread."""

    def __init__(self) -> None:
        """Start the clock."""
        self._until = time.thread_time() + _SECONDS
        self._steps = 0
        self._depth = 0

    def tick(self, steps: int = 1) -> None:
        """Count steps. Raises TooInvolved when they are too many or the time is over."""
        self._steps += steps
        if self._steps > _STEPS or time.thread_time() > self._until:
            raise TooInvolved("the command is too long to be checked")

    @contextmanager
    def deeper(self) -> Iterator[None]:
        """Go into a command within a command. Raises TooInvolved when that is too deep."""
        self._depth += 1
        try:
            if self._depth > _DEEPEST:
                raise TooInvolved("the command has more commands within others than can be checked")
            yield
        finally:
            self._depth -= 1
