"""How a mailbox is asked: few times, and for no more than is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import pytest

from habakkuk.channels.email.fetched import Head
from habakkuk.channels.email.fetching import Fetching
from habakkuk.channels.email.imap import Refused
from habakkuk.channels.email.wire import Reader
from habakkuk.core.errors import ChannelError
from habakkuk.core.interrupt import Interrupt
from tests.fakes.letters import CHECKER, letter
from tests.fakes.listening import Desk

_READER = Reader(frozenset({"hab@example.org"}), CHECKER)


class _Box:
    """A mailbox of so many mails that says what it was asked for."""

    validity = 7

    def __init__(self, count: int) -> None:
        self.count = count
        self.asked: list[Sequence[int]] = []
        self.read_whole: list[int] = []
        self.refused: set[int] = set()
        self.recent: list[int] = []
        self.arrived = 100.0
        self.after_asked: list[int] = []

    def last_uid(self) -> int:
        return self.count

    def since(self, _moment: float) -> Sequence[int]:
        return self.recent

    def news(self) -> bool:
        return False

    def after(self, uid: int) -> Sequence[int]:
        self.after_asked.append(uid)
        return range(uid + 1, self.count + 1)

    def heads(self, uids: Sequence[int], _most: int) -> Mapping[int, Head]:
        self.asked.append(uids)
        if not self.refused.isdisjoint(uids):
            raise Refused("no", retryable=True)
        return {uid: Head(uid, self.arrived, 900, letter(f"m{uid}")) for uid in uids}

    def read(self, uid: int, _most: int) -> bytes:
        self.read_whole.append(uid)
        return letter(f"m{uid}")


def _fetched(box: _Box, desk: Desk, pause: float = 300.0) -> None:
    fetching = Fetching(cast("Any", box), desk, Interrupt(), _READER, "box")
    fetching.begin(read_old=True)
    fetching.all(pause)


def test_headers_are_asked_for_several_at_once() -> None:
    box, desk = _Box(45), Desk()
    _fetched(box, desk)
    assert [len(uids) for uids in box.asked] == [20, 20, 5]
    assert desk.texts == [f"m{n}" for n in range(1, 46)]


def test_of_who_may_not_write_nothing_else_is_asked_for() -> None:
    box, desk = _Box(3), Desk()
    desk.strangers.add("alice@example.com")
    _fetched(box, desk)
    assert (box.read_whole, desk.texts) == ([], [])
    assert desk.place is not None
    assert desk.place["uid"] == 3


def test_a_refused_mail_is_found_among_those_asked_for_with_it() -> None:
    box, desk = _Box(4), Desk()
    box.refused = {2}
    _fetched(box, desk)
    assert desk.texts == ["m1", "m3", "m4"]
    assert desk.place is not None
    assert list(desk.place["aside"]) == ["2"]


def test_a_server_that_gives_nothing_out_is_not_passed_over() -> None:
    box, desk = _Box(300), Desk()
    box.refused = set(range(1, 301))
    with pytest.raises(ChannelError):
        _fetched(box, desk)
    assert desk.place is not None
    assert (desk.place["uid"], len(desk.place["aside"])) == (100, 100)


def test_more_mails_than_can_wait_hold_nothing_up_for_ever() -> None:
    box, desk = _Box(102), Desk()
    box.refused = set(range(1, 102))
    runs = 0
    while desk.texts != ["m102"]:
        runs += 1
        assert runs < 20
        with suppress(ChannelError):
            _fetched(box, desk, pause=0.0)


def test_of_new_numbers_only_those_of_a_late_day_are_asked_for() -> None:
    """All the numbers of a large mailbox are megabytes at each look."""
    box, desk = _Box(300_000), Desk()
    desk.place = {"box": "box", "validity": 6, "uid": 9, "seen": 5000.0}
    box.recent = [7, 299_999]
    box.arrived = 5000.0
    _fetched(box, desk)
    assert desk.texts == ["m7", "m299999"]
    assert box.after_asked == [300_000]
    assert desk.place["uid"] == 300_000


@pytest.mark.parametrize("name", ["glance", "read"])
def test_a_mail_that_our_own_reader_fails_at_holds_nothing_up(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    box, desk = _Box(3), Desk()
    right = getattr(Reader, name)

    def failing(self: Reader, content: bytes, *more: Any, **named: Any) -> Any:
        if b"m2" in content:
            raise TypeError("a fault of ours")
        return right(self, content, *more, **named)

    monkeypatch.setattr(Reader, name, failing)
    _fetched(box, desk)
    assert desk.texts == ["m1", "m3"]
    assert desk.place is not None
    assert desk.place["uid"] == 3
