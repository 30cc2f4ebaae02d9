"""Reactions at the message that a turn answers (seed, Channels: "Reactions").

Of what is to stand at a message one after the other only the last is shown: a slow platform gets
no reaction that is over by then.
"""

from __future__ import annotations

import threading
from functools import partial

from habakkuk.channels.contract import Feature
from habakkuk.channels.messages import Reaction
from habakkuk.channels.registry import Adapter
from habakkuk.conversations.types import Outcome, Target
from habakkuk.delivery.asides import Asides

_END = {
    Outcome.ANSWERED: Reaction.DONE,
    Outcome.PARTIAL: Reaction.DONE,
    Outcome.FAILED: Reaction.FAILED,
}

# Account, chat, message.
_Place = tuple[str, str, str]


class Reactions:
    """What is to stand at messages whose turns run here."""

    def __init__(self, asides: Asides) -> None:
        """Show them by these threads."""
        self._asides = asides
        self._lock = threading.Lock()
        self._wanted: dict[_Place, Reaction | None] = {}
        self._busy: set[_Place] = set()

    def began(self, target: Target | None) -> None:
        """Show that a turn runs."""
        self._show(target, Reaction.WORKING)

    def ended(self, target: Target | None, outcome: Outcome) -> None:
        """Show how a turn ended; of one that was stopped nothing is left."""
        self._show(target, _END.get(outcome))

    def _show(self, target: Target | None, reaction: Reaction | None) -> None:
        if target is None or target.message is None:
            return
        line = self._asides.able(target.account, Feature.REACTIONS)
        if line is None or not line.config.reactions:
            return
        place = (target.account, target.chat, target.message)
        with self._lock:
            self._wanted[place] = reaction
            if place in self._busy:
                return
            self._busy.add(place)
        self._asides.submit(partial(self._settle, place))

    def _settle(self, place: _Place) -> None:
        account, chat, message = place
        while True:
            with self._lock:
                if place not in self._wanted:
                    self._busy.discard(place)
                    return
                wanted = self._wanted.pop(place)
            # Another process may have begun the turn: what is gone already is no error.
            before = None if wanted is Reaction.WORKING else Reaction.WORKING
            asked = partial(_react, chat, message, wanted, before)
            self._asides.ask(account, "a reaction", asked)


def _react(
    chat: str, message: str, wanted: Reaction | None, before: Reaction | None, adapter: Adapter
) -> None:
    adapter.react(chat, message, wanted, before)
