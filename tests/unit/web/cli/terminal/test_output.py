from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from web.cli.terminal.output import one_line, print_table, span, visible

_NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7199, "1 h"), (172_800, "2 d"), (-5, "0 s")],
)
def test_a_span_has_one_unit(seconds: int, shown: str) -> None:
    assert span(_NOW - timedelta(seconds=seconds), _NOW) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb", "a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\x9b2J", r"\x9b2J"),
        ("שלום עליכם", "שלום עליכם"),
    ],
)
def test_only_what_steers_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_cell_is_one_line() -> None:
    assert one_line("a\n b  c", 4) == "a b…"


def test_columns_stand_below_their_heads(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "X"), [("a", "1"), ("longer", "2")])
    assert capsys.readouterr().out == "NAME    X\na       1\nlonger  2\n"
