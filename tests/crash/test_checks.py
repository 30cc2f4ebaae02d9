"""What the drill's checks take for a fault, without any process."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from habakkuk.agent.repair import INTERRUPTED
from scripts.drills.asks import Ask, Surface
from scripts.drills.points import all_points, web_points, worker_points
from scripts.drills.transcripts import faults_of

Row = dict[str, Any]


def _text(seq: int, turn: str, step: int, role: str) -> Row:
    blocks = [{"type": "text", "text": f"{role} {seq}"}]
    return {"seq": seq, "job_id": turn, "step": step, "role": role, "blocks": blocks}


def _with_call() -> list[Row]:
    call = {"type": "tool_call", "id": "c1", "name": "mark", "input": {}}
    result = {"type": "tool_result", "call_id": "c1", "text": "done", "is_error": False}
    rows = [_text(1, "a", 0, "user"), _text(2, "a", 1, "assistant"), _text(3, "a", 2, "user")]
    rows[1]["blocks"], rows[2]["blocks"] = [call], [result]
    return [*rows, _text(4, "a", 3, "assistant")]


JOURNAL = {"c1": {"state": "done", "result": {"text": "done"}}}


def test_a_valid_transcript_has_no_fault() -> None:
    more = [_text(5, "b", 0, "user"), _text(6, "b", 1, "assistant")]
    assert faults_of([*_with_call(), *more], JOURNAL) == []


@pytest.mark.parametrize(
    ("rows", "journal"),
    [
        pytest.param(_with_call()[:2] + _with_call()[3:], JOURNAL, id="no result"),
        pytest.param(_with_call()[:3], JOURNAL, id="no answer"),
        pytest.param([*_with_call(), *_with_call()[2:]], JOURNAL, id="a result twice"),
        pytest.param(_with_call(), {}, id="a result without a record"),
        pytest.param(
            _with_call(), {"c1": {"state": "done", "result": {"text": "x"}}}, id="another record"
        ),
        pytest.param(
            [
                _text(1, "a", 0, "user"),
                _text(2, "b", 0, "user"),
                _text(3, "a", 1, "assistant"),
                _text(4, "b", 1, "assistant"),
            ],
            {},
            id="two turns mixed",
        ),
        pytest.param(
            [_text(1, "a", 0, "user"), _text(3, "a", 1, "assistant")], {}, id="a gap in the numbers"
        ),
        pytest.param(
            [_text(1, "a", 0, "user"), _text(2, "a", 2, "assistant")], {}, id="a step left out"
        ),
    ],
)
def test_a_broken_transcript_is_seen(rows: list[Row], journal: dict[str, Row]) -> None:
    assert faults_of(rows, journal)


def _ask() -> Ask:
    tools = (("mark", "x.1"), ("peek", "x.2"))
    return Ask("x", Surface.CHAT, "x says hello [[tokens 2]]", tools)


def test_the_right_answer_is_right() -> None:
    assert _ask().fault_of("results: done x.1 | seen x.2 token0 token1") is None
    assert Ask("y", Surface.CHAT, "y says hello").fault_of("echo: y says hello") is None


def test_an_interrupted_effect_is_right_and_known() -> None:
    answer = f"results: {INTERRUPTED} | seen x.2 token0 token1"
    assert _ask().fault_of(answer) is None
    assert _ask().interrupted(answer) == {"x.1"}


@pytest.mark.parametrize(
    "answer",
    [
        "results: done x.1 | seen x.2 token0",
        "results: done x.1 token0 token1",
        "results: done y.1 | seen x.2 token0 token1",
        f"results: done x.1 | {INTERRUPTED} token0 token1",
        "echo: x says hello token0 token1",
        "",
    ],
)
def test_another_answer_is_wrong(answer: str) -> None:
    assert _ask().fault_of(answer) is not None


def test_points_are_found_in_the_sources_and_each_belongs_to_a_process() -> None:
    assert {"turn.end.before", "model.text", "job.takeover.after"} <= set(worker_points())
    assert web_points() == ["admit.commit.after", "admit.commit.before"]
    assert set(worker_points()).isdisjoint(web_points())
    assert set(all_points()) >= set(worker_points()) | set(web_points())
    assert {"delivery.send.before", "delivery.end.after"} <= set(worker_points())


def test_every_failpoint_is_armed_by_the_drill_or_named_by_a_test() -> None:
    """A point that nothing kills at shows nothing; one may not be added without either."""
    here = Path(__file__)
    texts = {
        node.value
        for path in here.parents[1].rglob("test_*.py")
        if path != here
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    armed = {*worker_points(), *web_points()}
    left = [p for p in all_points() if p not in armed and not any(p in text for text in texts)]
    assert left == []


def test_failpoints_are_named_where_they_are_passed() -> None:
    """A name that is made up at run time would escape the list."""
    passing = ("self._hit(", ".hit(")
    lines = [
        line.strip()
        for path in sorted((Path(__file__).parents[2] / "habakkuk").rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if any(one in line for one in passing) and '"' not in line
    ]
    # Delivery's short way to the same.
    assert lines == ["self._context.failpoints.hit(name)"]
