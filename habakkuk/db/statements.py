"""Statements as the server knows them: prepared once in each connection, then run by name.

Planning one of ours costs PostgreSQL three to ten times what running it does. `PREPARE` and
`EXECUTE` are SQL, so that several can go in one round trip, which the extended protocol of the
driver's successor cannot.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from psycopg2.extensions import cursor as Cursor  # noqa: N812 - a class by any name
from sqlalchemy import TextClause
from sqlalchemy.engine.default import DefaultDialect

_NUMBERED = DefaultDialect(paramstyle="numeric_dollar")
_PREPARABLE = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "VALUES", "WITH"})
_numbers = itertools.count(1)


class Row(Protocol):
    """One row: its columns are attributes, in the order of the statement."""

    def __getattr__(self, name: str) -> Any:
        """Return a column."""

    def __getitem__(self, number: int | slice) -> Any:
        """Return the column of that number."""

    def __iter__(self) -> Iterator[Any]:
        """Go through the columns."""

    def _asdict(self) -> dict[str, Any]: ...


class Rows(list[Row]):
    """What a statement returned; `changed` is how many rows it returned or changed."""

    def __init__(self, rows: Sequence[Row] = (), changed: int = 0) -> None:
        """Take the rows."""
        super().__init__(rows)
        self.changed = changed

    def first(self) -> Row | None:
        """Return the first row, None when there is none."""
        return self[0] if self else None


class Prepared:
    """One statement with the names of its parameters in the order of `EXECUTE`."""

    def __init__(self, statement: TextClause) -> None:
        """Give it a name of this process."""
        compiled = statement.compile(dialect=_NUMBERED)
        self.name = f"h{next(_numbers)}"
        self._names = tuple(compiled.positiontup or ())
        # None for what cannot be prepared, such as SET; that takes no parameters either.
        self.prepare: str | None = None
        self.execute = compiled.string
        if compiled.string.split(None, 1)[0].upper() in _PREPARABLE:
            marks = ", ".join(["%s"] * len(self._names))
            self.prepare = f"PREPARE {self.name} AS {compiled.string}"
            self.execute = f"EXECUTE {self.name} ({marks})" if marks else f"EXECUTE {self.name}"
        self._columns: tuple[str, ...] | None = None
        self._row: Any = None

    def arguments(self, params: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Return the parameters in their order. Raises KeyError for one that is missing."""
        return tuple([params[name] for name in self._names]) or None

    def rows(self, cursor: Cursor) -> Rows:
        """Return what the cursor holds."""
        if cursor.description is None:
            return Rows(changed=cursor.rowcount)
        columns = tuple(column.name for column in cursor.description)
        if columns != self._columns:
            self._row = _row_of(columns)
            self._columns = columns
        found = cursor.fetchall()
        return Rows(list(map(self._row, found)), len(found))


@cache
def _row_of(columns: tuple[str, ...]) -> Any:
    """Return what makes a row of a tuple."""
    kind: Any = namedtuple("Row", columns, rename=True)  # type: ignore[misc] # - known at run time
    return kind._make


@cache
def prepared(statement: TextClause) -> Prepared:
    """Return the one prepared form of a statement that is made once, at import."""
    return Prepared(statement)
