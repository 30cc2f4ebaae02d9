"""Where the reading of a mailbox stands, and what becomes of mails that are not given out."""

from __future__ import annotations

import json

from habakkuk.channels.email.place import Aside, Stand

_PAUSE = 300.0


def _refused(place: Stand, uid: int, times: int) -> Stand:
    for _ in range(times):
        place = place.refused(uid, 1000.0)
    return place


def test_what_is_stored_is_what_it_was() -> None:
    place = Stand("box", 7).renumbered(8, 40, 99.5).past(4, 120.0).refused(5, 130.0).broken(6)
    stored = Stand.stored(json.loads(json.dumps(place.written())), "box")
    assert stored == place
    assert Stand.stored(place.written(), "another") is None


def test_what_an_earlier_version_stored_is_read() -> None:
    stored = Stand.stored({"box": "b", "validity": 7, "uid": 4, "seen": 1.5}, "b")
    assert stored == Stand("b", 7, 4, 1.5)
    known = {"box": "b", "validity": 7, "uid": 4, "seen": 1.5, "aside": {"3": [9.5, 2]}}
    aside = Stand.stored(known, "b")
    assert aside is not None
    assert aside.aside == {3: Aside(9.5, 2)}


def test_a_mail_that_is_refused_is_asked_for_more_and_more_seldom() -> None:
    place = Stand("box", 7, uid=4)
    moments = []
    for times in range(1, 8):
        aside = _refused(place, 5, times).aside[5]
        moments.append(aside.due(_PAUSE) - 1000.0)
    assert moments == [300.0, 900.0, 2100.0, 4500.0, 9300.0, 18_900.0, 38_100.0]
    assert _refused(place, 5, 8).aside == {}


def test_what_was_given_up_is_remembered_with_why() -> None:
    place = Stand("box", 7)
    for uid in range(1, 26):
        for _ in range(8):
            place = place.refused(uid, 1000.0, f"why {uid}", 900 if place.aside else 0)
    stored = Stand.stored(json.loads(json.dumps(place.written())), "box")
    assert stored is not None
    assert list(stored.given_up) == list(range(6, 26))
    assert stored.given_up[25] == Aside(1000.0, 8, "why 25", 900)


def test_it_is_due_at_its_time_and_the_others_are_passed() -> None:
    place = Stand("box", 7, uid=4).refused(5, 1000.0).past(6)
    assert (place.uid, place.due(1299.0, _PAUSE), place.due(1300.0, _PAUSE)) == (6, [], [5])
    assert place.past(5).due(1300.0, _PAUSE) == []


def test_a_line_that_breaks_at_one_mail_again_and_again_breaks_by_it() -> None:
    place = Stand("box", 7, uid=4)
    assert not place.broken(5).broken(5).breaks(5)
    assert place.broken(5).broken(5).broken(5).breaks(5)
    assert not place.broken(5).broken(5).broken(6).broken(5).breaks(5)
    # A mail behind it came through.
    assert not place.broken(5).broken(5).past(6).broken(5).breaks(5)
    assert place.refused(5, 1000.0).broken(5).breaks(5)


def test_a_mail_that_was_set_aside_counts_when_numbers_begin_anew() -> None:
    place = Stand("box", 7, uid=4, seen=2000.0)
    assert (place.earliest, place.refused(5, 1000.0).earliest) == (2000.0, 1000.0)


def test_a_mail_with_a_new_number_that_is_set_aside_is_no_new_one_after_a_restart() -> None:
    place = Stand("box", 7).renumbered(8, 5, 99.5).past(4).refused(5, 1000.0)
    again = Stand.stored(place.past(6).written(), "box")
    assert again is not None
    assert (again.until, again.since, again.is_looking_through) == (5, 99.5, False)
    assert "until" not in again.past(5).written()
