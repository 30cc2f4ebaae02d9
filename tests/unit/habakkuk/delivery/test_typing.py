"""The sign that an answer is on its way: while turns run, and never in their way."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from habakkuk.channels.contract import Feature, NotSent
from habakkuk.channels.registry import Channels
from habakkuk.conversations.types import Target
from habakkuk.delivery import typing as module
from habakkuk.delivery.asides import Asides
from habakkuk.delivery.typing import Typing
from tests.fakes.stack import until

_HERE = Target("phone", "room", "topic")


@dataclass
class Phone:
    """An account, and where it was shown that somebody types."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    features: frozenset[Feature] = frozenset({Feature.TYPING})
    refuses: bool = False
    hangs: threading.Event | None = None

    def line(self, name: str) -> Any:
        adapter = SimpleNamespace(manifest=self, typing=self.typing)
        return SimpleNamespace(adapter=adapter) if name == "phone" else None

    def typing(self, chat: str, thread: str) -> None:
        self.shown.append((chat, thread))
        if self.hangs is not None and chat == "room":
            self.hangs.wait(20)
        if self.refuses:
            raise NotSent("nobody may type there")


@pytest.fixture
def phone(monkeypatch: pytest.MonkeyPatch) -> Phone:
    monkeypatch.setattr(module, "_EVERY_SECONDS", 0.02)
    return Phone()


@pytest.fixture
def typing(phone: Phone) -> Iterator[Typing]:
    asides = Asides(cast("Channels", phone))
    made = Typing(asides)
    yield made
    made.stop()
    asides.stop()


def test_it_is_shown_again_and_again_while_a_turn_runs(phone: Phone, typing: Typing) -> None:
    with typing.showing(_HERE):
        until(lambda: len(phone.shown) >= 3)
    assert set(phone.shown) == {("room", "topic")}


def test_the_last_turn_of_a_place_ends_it(phone: Phone, typing: Typing) -> None:
    with typing.showing(_HERE):
        with typing.showing(_HERE):
            until(lambda: bool(phone.shown))
        seen = len(phone.shown)
        until(lambda: len(phone.shown) > seen)
    ended = len(phone.shown)
    elsewhere = Target("phone", "other")
    with typing.showing(elsewhere):
        until(lambda: phone.shown.count(("other", "")) >= 3)
    # One may just have been on its way.
    assert phone.shown.count(("room", "topic")) <= ended + 1


def test_a_platform_that_refuses_is_not_asked_again_in_that_turn(
    phone: Phone, typing: Typing
) -> None:
    phone.refuses = True
    other = Target("phone", "other")
    with typing.showing(_HERE):
        until(lambda: bool(phone.shown))
        phone.refuses = False
        with typing.showing(other):
            until(lambda: phone.shown.count(("other", "")) >= 3)
            refused = phone.shown.count(("room", "topic"))
            until(lambda: phone.shown.count(("other", "")) >= 6)
    assert phone.shown.count(("room", "topic")) == refused


def test_a_platform_that_hangs_is_asked_once_a_place(phone: Phone, typing: Typing) -> None:
    """Else questions pile up, and reactions wait behind what nobody has to see any more."""
    phone.hangs = threading.Event()
    with typing.showing(_HERE), typing.showing(Target("phone", "other")):
        until(lambda: phone.shown.count(("other", "")) >= 4)
        asked = phone.shown.count(("room", "topic"))
        phone.hangs.set()
        until(lambda: phone.shown.count(("room", "topic")) > 1)
    assert asked == 1


@pytest.mark.parametrize("target", [None, Target("gone", "room")])
def test_where_nothing_can_be_shown_nothing_is_started(
    typing: Typing, target: Target | None
) -> None:
    before = threading.active_count()
    with typing.showing(target):
        assert threading.active_count() == before


def test_a_channel_without_it_is_left_alone(phone: Phone, typing: Typing) -> None:
    phone.features = frozenset()
    with typing.showing(_HERE):
        pass
    assert phone.shown == []
