"""Tables as lines of fixed width, since Discord has none."""

from __future__ import annotations

import unicodedata

_WIDE = "WF"


class Table:
    """One table: the cells of its rows, the head first."""

    def __init__(self) -> None:
        """Begin with the row of the head."""
        self._rows: list[list[str]] = [[]]

    def row(self) -> None:
        """Begin the next row."""
        self._rows.append([])

    def cell(self) -> None:
        """Begin the next cell."""
        self._rows[-1].append("")

    def says(self, text: str) -> None:
        """Add to the cell that was begun last."""
        if self._rows[-1]:
            self._rows[-1][-1] += text

    def drawn(self) -> str:
        """Return the lines of the table."""
        most = max(len(row) for row in self._rows)
        rows = [row + [""] * (most - len(row)) for row in self._rows]
        widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
        lines = [_line(row, widths) for row in rows]
        return "\n".join([lines[0], "-+-".join("-" * width for width in widths), *lines[1:]])


def _line(row: list[str], widths: list[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
    return " | ".join(padded).rstrip()


def _width(text: str) -> int:
    """Return how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in _WIDE)
        for one in text
    )
