"""Reactions at the message that a turn answers: the last one counts, and only where wanted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from habakkuk.channels.contract import Feature, NotSent
from habakkuk.channels.messages import Reaction
from habakkuk.channels.registry import Channels
from habakkuk.conversations.types import Outcome, Target
from habakkuk.delivery.asides import Asides
from habakkuk.delivery.reactions import Reactions
from tests.fakes.stack import until

_HERE = Target("phone", "room", "", "m1")
_Asked = tuple[Reaction | None, Reaction | None]


@dataclass
class Phone:
    """An account with what it was asked; `slow` holds the first until it is set."""

    asked: list[_Asked] = field(default_factory=list)
    features: frozenset[Feature] = frozenset({Feature.REACTIONS})
    reactions: bool = True
    refuses: bool = False
    slow: threading.Event | None = None

    def line(self, _: str) -> Any:
        return SimpleNamespace(
            adapter=SimpleNamespace(manifest=self, react=self.react), config=self
        )

    def react(self, chat: str, message: str, now: Reaction | None, before: Reaction | None) -> None:
        assert (chat, message) == ("room", "m1")
        self.asked.append((now, before))
        if self.slow is not None:
            assert self.slow.wait(20)
        if self.refuses:
            raise NotSent("nobody may react there")


@pytest.fixture
def phone() -> Phone:
    return Phone()


@pytest.fixture
def reactions(phone: Phone) -> Iterator[Reactions]:
    asides = Asides(cast("Channels", phone))
    yield Reactions(asides)
    asides.stop()


@pytest.mark.parametrize(
    ("outcome", "last"),
    [
        (Outcome.ANSWERED, Reaction.DONE),
        (Outcome.PARTIAL, Reaction.DONE),
        (Outcome.FAILED, Reaction.FAILED),
        (Outcome.CANCELLED, None),
    ],
)
def test_a_turn_s_start_and_end_are_shown(
    phone: Phone, reactions: Reactions, outcome: Outcome, last: Reaction | None
) -> None:
    reactions.began(_HERE)
    until(lambda: len(phone.asked) == 1)
    reactions.ended(_HERE, outcome)
    until(lambda: len(phone.asked) == 2)
    assert phone.asked == [(Reaction.WORKING, None), (last, Reaction.WORKING)]


def test_on_a_slow_platform_only_the_last_is_still_shown(
    phone: Phone, reactions: Reactions
) -> None:
    phone.slow = threading.Event()
    reactions.began(_HERE)
    until(lambda: len(phone.asked) == 1)
    reactions.began(_HERE)
    reactions.ended(_HERE, Outcome.ANSWERED)
    phone.slow.set()
    until(lambda: len(phone.asked) == 2)
    assert phone.asked[-1][0] is Reaction.DONE


def test_a_platform_that_refuses_harms_nothing(phone: Phone, reactions: Reactions) -> None:
    phone.refuses = True
    reactions.began(_HERE)
    until(lambda: len(phone.asked) == 1)
    reactions.ended(_HERE, Outcome.ANSWERED)
    until(lambda: len(phone.asked) == 2)


@pytest.mark.parametrize("target", [None, Target("phone", "room")])
def test_without_a_message_there_is_nothing_to_react_to(
    phone: Phone, reactions: Reactions, target: Target | None
) -> None:
    before = threading.active_count()
    reactions.began(target)
    assert threading.active_count() == before
    assert phone.asked == []


@pytest.mark.parametrize("change", [{"reactions": False}, {"features": frozenset()}])
def test_they_are_shown_where_they_are_wanted_and_can_be(
    phone: Phone, reactions: Reactions, change: dict[str, Any]
) -> None:
    for name, value in change.items():
        setattr(phone, name, value)
    before = threading.active_count()
    reactions.began(_HERE)
    assert threading.active_count() == before
