from __future__ import annotations

import json

import pytest

from scripts.benches.client import Run, Sample, Target, fault_of
from scripts.benches.model import MARK, TOKENS

_WHOLE = b"HTTP/1.1 200 OK\r\n\r\n" + TOKENS * f"{MARK} ".encode() + b"data: [DONE]\n\n"


def test_a_request_says_how_long_its_body_is() -> None:
    head, _, body = Target(80, "habakkuk/slow", "secret").request("ses_1").partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    assert b"x-habakkuk-session: ses_1" in head
    assert json.loads(body)["model"] == "habakkuk/slow"


def test_a_turn_without_a_session_names_none() -> None:
    assert b"session" not in Target(80, "instant").request()


def test_a_whole_answer_has_no_fault() -> None:
    assert fault_of(_WHOLE) == ""


@pytest.mark.parametrize(
    "answer",
    [
        _WHOLE.replace(b"200", b"503"),
        _WHOLE.replace(b"[DONE]", b""),
        _WHOLE.replace(MARK.encode(), b"", 1),
        _WHOLE + MARK.encode(),
    ],
    ids=["refused", "cut", "a piece lost", "a piece twice"],
)
def test_anything_else_has(answer: bytes) -> None:
    assert fault_of(answer)


def test_what_the_model_takes_alone_is_not_counted_as_added() -> None:
    run = Run([Sample(0.5104, 0.6, 0.0)])
    assert run.first_ms(less=500.0)["p50"] == pytest.approx(10.4)


def test_a_rate_counts_the_turns_of_its_time() -> None:
    assert Run([Sample(0.1, 0.2, 0.0)] * 30, seconds=2.0).per_second == 15.0
