from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from habakkuk.core.clock import Clock


def test_now_carries_its_zone() -> None:
    before = datetime.now(UTC)
    now = Clock().now()
    assert now.tzinfo is UTC
    assert before <= now <= datetime.now(UTC)


def test_monotonic_never_goes_back() -> None:
    clock = Clock()
    values = [clock.monotonic() for _ in range(100)]
    assert values == sorted(values)


def test_without_a_clock_that_counts_sleep_the_ordinary_one_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    before = time.monotonic()
    assert before <= Clock().monotonic() <= time.monotonic()
