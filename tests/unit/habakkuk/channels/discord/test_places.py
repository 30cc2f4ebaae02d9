"""Up to where messages are stored, by the times in their ids (case K6)."""

from __future__ import annotations

from habakkuk.channels.discord.ids import first_at, is_id, made_at
from habakkuk.channels.discord.places import Stored

# The example of Discord's reference, "Snowflakes": made at 2016-04-30 11:18:25.796 UTC.
_EXAMPLE, _EXAMPLE_TIME = 175928847299117063, 1462015105.796
_NOW = 1_800_000_000.0


def test_an_id_tells_when_it_was_made() -> None:
    assert made_at(_EXAMPLE) == _EXAMPLE_TIME
    assert first_at(_EXAMPLE_TIME) <= _EXAMPLE < first_at(_EXAMPLE_TIME + 0.001)


def test_only_numbers_are_ids() -> None:
    assert is_id("80351110224678912")
    assert not any(is_id(text) for text in ("", "42/../7", "４２", "-1", "4" * 30))


def test_a_place_is_read_as_it_was_written() -> None:
    place = Stored.begun("100", _NOW).passed(first_at(_NOW + 9)).with_direct("42")
    assert Stored.read(place.written(), "100") == place
    assert Stored.read(place.written(), "101") is None
    assert Stored.read(None, "100") is None


def test_what_was_written_before_the_start_is_not_read() -> None:
    place = Stored.begun("100", _NOW)
    assert place.after(_NOW) == place.passed(first_at(_NOW + 1)).after(_NOW) == first_at(_NOW)


def test_what_came_shortly_before_the_last_is_read_again() -> None:
    place = Stored.begun("100", _NOW).passed(first_at(_NOW + 500))
    assert place.after(_NOW + 500) == first_at(_NOW + 440)
    # An older message that comes late moves nothing.
    assert place.passed(first_at(_NOW + 400)) == place


def test_what_is_older_than_a_day_is_not_answered() -> None:
    place = Stored.begun("100", _NOW)
    assert place.after(_NOW + 3 * 86400) == first_at(_NOW + 2 * 86400)


def test_so_many_chats_with_one_person_are_remembered() -> None:
    place = Stored.begun("100", _NOW)
    for chat in range(300):
        place = place.with_direct(str(chat))
    place = place.with_direct("250").with_direct("250")
    assert place.direct[:3] == ("250", "299", "298")
    assert len(place.direct) == 200
