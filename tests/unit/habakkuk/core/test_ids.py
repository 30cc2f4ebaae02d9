from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from habakkuk.core.ids import derive, random_id

parts = st.lists(st.text(st.characters(exclude_categories=())), max_size=4).map(tuple)


def test_a_derived_id_is_short_whatever_it_comes_from() -> None:
    assert re.fullmatch(r"turn_[0-9a-f]{32}", derive("turn", "x" * 100_000, "\ud83d\x00"))


@given(parts, parts)
def test_other_parts_give_another_id(one: tuple[str, ...], two: tuple[str, ...]) -> None:
    assert (derive("t", *one) == derive("t", *two)) == (one == two)


def test_parts_do_not_run_into_each_other() -> None:
    assert derive("t", "a", "bc") != derive("t", "ab", "c")
    assert derive("t", "a", "") != derive("t", "a")


def test_random_ids_do_not_repeat() -> None:
    made = {random_id("ses") for _ in range(1000)}
    assert len(made) == 1000
    assert all(re.fullmatch(r"ses_[0-9a-f]{24}", one) for one in made)
