from __future__ import annotations

import pytest

from habakkuk.jobs.lock import Holder, lock_key, read_holder


def test_the_key_carries_the_serial_key() -> None:
    assert lock_key("s:abc") == "hab:1:lock:s:abc"


def test_a_value_is_read_back() -> None:
    assert read_holder(Holder(12, 34).value) == Holder(12, 34)
    assert Holder(12, 34).value == "12:34"


@pytest.mark.parametrize("value", [None, "", "12", "12:", ":34", "a:b", "1:2:3", "-1:2", "²:3"])
def test_a_foreign_value_is_nobody(value: str | None) -> None:
    assert read_holder(value) is None
