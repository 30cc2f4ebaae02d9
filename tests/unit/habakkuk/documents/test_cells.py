"""Numbers of cells, by what ECMA-376 and Excel make of them."""

from __future__ import annotations

import pytest

from habakkuk.documents.cells import Format, Shape, number_text, shape_of


@pytest.mark.parametrize(
    ("code", "shape"),
    [
        ("General", Shape.NUMBER),
        ("0.00", Shape.NUMBER),
        ("0.00E+00", Shape.NUMBER),
        ("#,##0.00\\ [$€-407]", Shape.NUMBER),
        ('0 "days"', Shape.NUMBER),
        ("[Red]0.00", Shape.NUMBER),
        ("@", Shape.NUMBER),
        ("yyyy\\-mm\\-dd", Shape.DATE),
        ("[$-409]d\\-mmm\\-yy;@", Shape.DATE),
        ("mmmm", Shape.DATE),
        ("h:mm AM/PM", Shape.TIME),
        ("mm:ss.0", Shape.TIME),
        ("yyyy/m/d h:mm", Shape.MOMENT),
        ("[h]:mm:ss", Shape.DURATION),
        ("[mm]:ss", Shape.DURATION),
    ],
)
def test_a_format_code_says_what_a_number_stands_for(code: str, shape: Shape) -> None:
    assert shape_of(code) is shape


@pytest.mark.parametrize(
    ("text", "shape", "shown"),
    [
        ("1", Shape.DATE, "1900-01-01"),
        ("59", Shape.DATE, "1900-02-28"),
        ("61", Shape.DATE, "1900-03-01"),
        ("46024", Shape.DATE, "2026-01-02"),
        ("46024.5", Shape.DATE, "2026-01-02 12:00:00"),
        ("46024.75", Shape.MOMENT, "2026-01-02 18:00:00"),
        ("0.999999", Shape.TIME, "24:00:00"),
        ("1.25", Shape.DURATION, "30:00:00"),
        ("-0.5", Shape.DURATION, "-12:00:00"),
        ("2958465", Shape.DATE, "9999-12-31"),
        ("2958466", Shape.DATE, "2958466"),
        ("-1", Shape.DATE, "-1"),
        ("1e300", Shape.DATE, "1e+300"),
        ("nan", Shape.DATE, "nan"),
        ("0.30000000000000004", Shape.NUMBER, "0.3"),
        ("1e21", Shape.NUMBER, "1e+21"),
        ("-12345678901234567890", Shape.NUMBER, "-12345678901234567890"),
        ("#N/A", Shape.NUMBER, "#N/A"),
    ],
)
def test_a_number_is_shown_as_what_it_stands_for(text: str, shape: Shape, shown: str) -> None:
    assert number_text(text, Format(shape)) == shown


def test_the_calendar_of_1904() -> None:
    assert number_text("0", Format(Shape.DATE, from_1904=True)) == "1904-01-01"
