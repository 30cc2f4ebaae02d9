"""One variable of `.env` changes, and nothing else."""

from __future__ import annotations

from io import StringIO

import pytest
from dotenv import dotenv_values
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.env_file import with_variable

BEFORE = b"# keys\nOTHER=one # why\n\nexport MINE_KEY='old'\nLAST=\"a b\"\n"


def test_a_variable_is_replaced_in_its_place() -> None:
    assert with_variable(BEFORE, "MINE_KEY", "new-1") == BEFORE.replace(b"'old'", b"new-1")


def test_a_new_variable_stands_at_the_end() -> None:
    assert with_variable(b"A=1", "B", "2") == b"A=1\nB=2\n"
    assert with_variable(b"", "B", "2") == b"B=2\n"


def test_a_variable_that_is_there_twice_stands_once() -> None:
    assert with_variable(b"A=1\nB=2\nA=3\n", "A", "4") == b"A=4\nB=2\n"


def test_line_ends_stay() -> None:
    assert with_variable(b"A=1\r\nB=2\r\n", "A", "4") == b"A=4\r\nB=2\r\n"


def test_a_line_inside_another_value_is_no_variable() -> None:
    before = b"TEXT='one\nA=1\n'\n"
    assert with_variable(before, "A", "2") == before + b"A=2\n"


def test_what_is_no_utf8_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="UTF-8"):
        with_variable(b"A=\xff\n", "B", "2")


PRINTABLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1)


@given(PRINTABLE, PRINTABLE)
def test_any_key_is_read_back(first: str, second: str) -> None:
    stored = with_variable(with_variable(BEFORE, "MINE_KEY", first), "NEXT", second)
    assert dotenv_values(stream=StringIO(stored.decode()), interpolate=False) == {
        "OTHER": "one",
        "MINE_KEY": first,
        "LAST": "a b",
        "NEXT": second,
    }
