"""How a question is shown: all of it, exactly, and not to be imitated."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from habakkuk.agent.approval.types import Approval
from web.cli.terminal.question import describe, exact, seconds_left, time_left

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def _approval(tool: str = "exec", expires: datetime | None = None, **arguments: Any) -> Approval:
    return Approval(
        id="approval_1",
        turn_id="turn_1",
        session_id="ses_1",
        conversation_id="conv_1",
        user_id="user_1",
        agent="careful",
        tool=tool,
        input=arguments,
        folder="/home/ada/workspace",
        why="permissions are workspace",
        may_repeat=False,
        fingerprint="f",
        created=NOW,
        expires_at=expires,
        outcome=None,
    )


def _lines(approval: Approval, width: int = 80) -> list[str]:
    return list(describe(approval, width))


def test_a_command_stands_alone_and_the_facts_below_it() -> None:
    assert _lines(_approval(command="make clean")) == [
        "  | make clean",
        "",
        "  Tool    exec",
        "  Agent   careful",
        "  Folder  /home/ada/workspace",
        "  Why     permissions are workspace",
    ]


def test_other_arguments_stand_below_their_names() -> None:
    lines = _lines(_approval("write_file", path="a.txt", content="one\ntwo", append=False))
    assert lines[:9] == [
        *("  path", "  | a.txt", ""),
        *("  content", "  | one", "  | two", ""),
        *("  append", "  | false"),
    ]


def test_a_file_that_ends_as_files_do_is_shown_in_lines() -> None:
    lines = _lines(_approval("write_file", path="a.txt", content="one\ntwo\n", old="\n\none"))
    assert lines[3:12] == [
        *("  content", "  | one", "  | two", "  | ", ""),
        *("  old", "  | ", "  | ", "  | one"),
    ]


def test_no_line_of_an_argument_looks_like_the_lines_around_it() -> None:
    padded = "ls" + " " * 200 + "  Tool    read_file"
    lines = _lines(_approval(command=f"{padded}\n  Agent   nobody\n\n"), width=60)
    argument = lines[: lines.index("")]
    assert all(line.startswith(("  | ", "  : ")) for line in argument)
    assert all(len(line) < 60 for line in argument)
    assert [line for line in lines if line.startswith("  Tool")] == ["  Tool    exec"]


def test_nothing_of_a_long_line_is_left_out() -> None:
    command = "".join(f"{number:04}" for number in range(500))
    lines = _lines(_approval(command=command), 60)
    assert "".join(line[4:] for line in lines[: lines.index("")]) == command


def test_wide_characters_count_twice() -> None:
    lines = _lines(_approval(command="漢" * 60), width=65)
    assert lines[:3] == ["  | " + "漢" * 30, "  : " + "漢" * 30, ""]


def test_spaces_at_the_ends_of_an_argument_are_seen() -> None:
    assert _lines(_approval("read_file", path="a.txt "))[1] == '  | "a.txt "'


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\x1b[2K", r"\x1b[2K"),
        ("\r", r"\r"),
        ("\t", r"\t"),
        ("\x9b", r"\x9b"),
        ("\u202e", r"\u202e"),
        ("\u2066", r"\u2066"),
        ("\u200b", r"\u200b"),
        ("\u00a0", r"\xa0"),
        ("\u2028", r"\u2028"),
        ("\u3164", r"\u3164"),
        ("\ufe0f", r"\ufe0f"),
        ("\U000e0041", r"\U000e0041"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_does_not_show_as_itself_is_an_escape(hidden: str, shown: str) -> None:
    assert exact(f"a{hidden}b") == f"a{shown}b"


def test_words_of_any_language_stay() -> None:
    assert exact("rm größe 漢字 שלום é 🦜") == "rm größe 漢字 שלום é 🦜"


@pytest.mark.parametrize(
    ("left", "said"),
    [(899.6, "14 min 59 s left"), (60, "1 min 0 s left"), (59, "59 s left"), (-5, "0 s left")],
)
def test_the_time_left_is_said(left: float, said: str) -> None:
    expires = NOW + timedelta(seconds=left)
    assert time_left(expires, NOW) == said
    assert seconds_left(expires, NOW) == max(0.0, left)


def test_without_an_end_there_is_no_limit() -> None:
    assert time_left(None, NOW) == "no time limit"
