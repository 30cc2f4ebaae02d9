"""Taken messages become one user message; the time stands there and never in the prompt."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from habakkuk.agent.begin import user_message
from habakkuk.conversations.files import Attached
from habakkuk.conversations.types import Said
from habakkuk.llm.types import Media, Role, Text

MOMENT = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def _with(file: Attached) -> dict[str, Any]:
    return {"files": [asdict(file)]}


@pytest.mark.parametrize(
    ("zone", "note"),
    [
        ("UTC", "[Sun 2026-10-25 00:30 UTC]\n"),
        ("Europe/Berlin", "[Sun 2026-10-25 02:30 CEST]\n"),
        ("America/New_York", "[Sat 2026-10-24 20:30 EDT]\n"),
        ("Asia/Shanghai", "[Sun 2026-10-25 08:30 CST]\n"),
        ("Australia/Lord_Howe", "[Sun 2026-10-25 11:30 +11]\n"),
    ],
)
def test_the_message_is_led_by_its_time_in_the_zone(zone: str, note: str) -> None:
    message = user_message([Said("hello", MOMENT)], ZoneInfo(zone))
    assert message.role is Role.USER
    assert message.text == note + "hello"


def test_the_time_is_marked_as_a_note_which_nobody_said() -> None:
    time, said = user_message([Said("hello", MOMENT)], ZoneInfo("UTC")).blocks
    assert isinstance(time, Text)
    assert time.note
    assert said == Text(text="hello")


def test_several_messages_are_one_with_the_time_of_the_first() -> None:
    later = MOMENT.replace(minute=31)
    message = user_message(
        [Said("one", MOMENT), Said("two\nlines", later), Said("three", later)], ZoneInfo("UTC")
    )
    assert message.text == "[Sun 2026-10-25 00:30 UTC]\none\ntwo\nlines\nthree"


def test_the_files_of_a_message_stand_before_its_text() -> None:
    said = Said("look", MOMENT, _with(Attached("b1", "image/png", "a.png", 9)))
    _, *blocks = user_message([said], ZoneInfo("UTC")).blocks
    assert blocks == [Media(blob="b1", mime="image/png", name="a.png"), Text(text="look")]


def test_a_file_without_a_word_leaves_no_empty_text() -> None:
    said = Said("", MOMENT, _with(Attached("b1", "image/png", None, 9)))
    _, *blocks = user_message([said], ZoneInfo("UTC")).blocks
    assert blocks == [Media(blob="b1", mime="image/png")]


def test_in_a_group_each_message_names_who_wrote_it() -> None:
    said = [Said("one", MOMENT, {"writer": "Ann"}), Said("two", MOMENT, {"writer": "Ann"})]
    message = user_message(said, ZoneInfo("UTC"))
    assert message.text.endswith("[Ann]\none\n[Ann]\ntwo")
    assert [
        block.text for block in message.blocks if isinstance(block, Text) and not block.note
    ] == [
        "one\n",
        "two",
    ]


def test_what_cannot_be_read_is_named() -> None:
    said = Said("look", MOMENT, {"unread": ["a voice message", "a sticker"]})
    _, note, text = user_message([said], ZoneInfo("UTC")).blocks
    assert isinstance(note, Text)
    assert note.note
    assert "a voice message, a sticker, which you cannot see" in note.text
    assert text == Text(text="look")
