"""Numbers of cells as people see them: dates, times and durations are numbers with a format."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

from habakkuk.documents.markup import Attributes, Handler, whole

# The formats that every program knows by number (ECMA-376 part 1, 18.8.30); East Asian ones too.
_DATES = {*range(14, 18), *range(27, 32), 34, 35, 36, *range(50, 55), 57, 58}
_TIMES = {18, 19, 20, 21, 32, 33, 45, 47, 55, 56}
_MOMENTS = {22}
_DURATIONS = {46}
# What is no code: texts in quotes, one escaped character, a colour or a condition.
_LITERAL = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)
_LONGEST_FORMAT = 1_000
_DAY = 86_400
# Excel knows a 29 February 1900, which never was: before it the days count from another one.
_LEAP_DAY = 60
_LAST_DAY = 2_958_466  # of the year 9999, which is where Excel and Python end


class Shape(Enum):
    """What a number stands for."""

    NUMBER = 1
    DATE = 2
    TIME = 3
    MOMENT = 4
    DURATION = 5


@dataclass(frozen=True)
class Format:
    """How a cell shows its number; `from_1904`: days count from that year."""

    shape: Shape
    from_1904: bool = False


class Formats(Handler):
    """Reads the styles of a workbook."""

    def __init__(self, *, from_1904: bool = False) -> None:
        self._formats = {shape: Format(shape, from_1904=from_1904) for shape in Shape}
        self._own: dict[str, str] = {}
        self._styles: list[str] = []
        self._in_cells = False

    def begin(self, name: str, attributes: Attributes, /) -> None:
        """Read own formats, and which format each style has."""
        if name == "numFmt":
            self._own[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
        elif name == "cellXfs":
            self._in_cells = True
        elif name == "xf" and self._in_cells:
            self._styles.append(attributes.get("numFmtId", "0"))

    def end(self, name: str, /) -> None:
        """Know where the styles of cells end."""
        if name == "cellXfs":
            self._in_cells = False

    def of(self, style: str) -> Format:
        """Return the format of a cell's style."""
        place = whole(style)
        if place is None or place >= len(self._styles):
            return self._formats[Shape.NUMBER]
        return self._formats[self._shape(self._styles[place])]

    def _shape(self, number: str) -> Shape:
        if number in self._own:
            return shape_of(self._own[number])
        known = whole(number)
        for numbers, shape in (
            (_DATES, Shape.DATE),
            (_TIMES, Shape.TIME),
            (_MOMENTS, Shape.MOMENT),
            (_DURATIONS, Shape.DURATION),
        ):
            if known in numbers:
                return shape
        return Shape.NUMBER


def shape_of(code: str) -> Shape:
    """Return what a format code of its own makes of a number."""
    bare = _LITERAL.sub("", code[:_LONGEST_FORMAT].partition(";")[0]).lower()
    if _ELAPSED.search(bare):
        return Shape.DURATION
    if bare.strip() == "general":
        return Shape.NUMBER
    has_day = any(letter in bare for letter in "yd")
    has_time = any(letter in bare for letter in "hs")
    if has_day or ("m" in bare and not has_time):
        return Shape.MOMENT if has_time else Shape.DATE
    return Shape.TIME if has_time else Shape.NUMBER


def number_text(text: str, form: Format) -> str:
    """Return the number in a cell as text; what is no number stays as it is."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    if form.shape is Shape.NUMBER:
        # Fifteen digits are what a cell holds; the rest is how binary numbers are written.
        return text if text.lstrip("-").isdecimal() else f"{number:.15g}"
    if form.shape is Shape.DURATION:
        return _clock(number)
    return _date(number, form) or f"{number:.15g}"


def _clock(days: float) -> str:
    seconds = round(abs(days) * _DAY)
    sign = "-" if days < 0 else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def _date(number: float, form: Format) -> str | None:
    """Return a date, a time or both; None for a number that stands for none."""
    if not 0 <= number < _LAST_DAY:
        return None
    if form.shape is Shape.TIME and number < 1:
        return _clock(number)
    first = datetime(1904, 1, 1) if form.from_1904 else datetime(1899, 12, 30)  # noqa: DTZ001 - cells have no zone
    if not form.from_1904 and number < _LEAP_DAY:
        first += timedelta(days=1)
    try:
        moment = first + timedelta(seconds=round(number * _DAY))
    except OverflowError:
        return None
    whole = moment.strftime("%Y-%m-%d") if form.shape is Shape.DATE else None
    if whole is not None and not (moment.hour or moment.minute or moment.second):
        return whole
    return moment.isoformat(sep=" ", timespec="seconds")
