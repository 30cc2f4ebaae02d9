"""What waits for a turn waits through an outage of the database."""

from __future__ import annotations

import pytest

from habakkuk.core.errors import Unavailable
from habakkuk.interop.openai_chat import Frame
from tests.unit.web.away import NOBODY, REPLY, TURN, container
from web.interop.openai_stream import CompletionStream
from web.waiting import wait_for_end

FRAME = Frame("t", "s", "habakkuk/habakkuk", 1)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "web.waiting._LOOK_SECONDS",
        "web.waiting._LEAST_SECONDS",
        "web.interop.openai_stream._LOOK_SECONDS",
        "web.interop.openai_stream._RETRY_SECONDS",
    ):
        monkeypatch.setattr(name, 0.01)


def test_a_wait_goes_on_until_the_database_is_back() -> None:
    assert wait_for_end(container(3), NOBODY, "t", lambda: False) == (TURN, REPLY)


def test_a_wait_that_is_over_says_that_the_database_is_away() -> None:
    with pytest.raises(Unavailable):
        wait_for_end(container(10**9), NOBODY, "t", lambda: False, seconds=0.05)


def test_nobody_waits_for_a_client_that_has_gone() -> None:
    with pytest.raises(Unavailable):
        wait_for_end(container(10**9), NOBODY, "t", lambda: True)


@pytest.mark.parametrize("failures", [0, 1, 2, 5])
def test_a_stream_goes_on_until_the_database_is_back(failures: int) -> None:
    stream = CompletionStream(container(failures), NOBODY, FRAME, lambda: False, usage=False)
    parts = b"".join(stream.parts()).decode()
    assert parts.count("the answer") == 1
    assert parts.endswith("data: [DONE]\n\n")


def test_a_stream_ends_when_its_client_has_gone() -> None:
    stream = CompletionStream(container(10**9), NOBODY, FRAME, lambda: True, usage=False)
    assert "[DONE]" not in b"".join(stream.parts()).decode()


def test_a_quiet_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.interop.openai_stream._KEEPALIVE_SECONDS", 0.0)
    stream = CompletionStream(container(3), NOBODY, FRAME, lambda: False, usage=False)
    assert b": keepalive\n\n" in b"".join(stream.parts())
