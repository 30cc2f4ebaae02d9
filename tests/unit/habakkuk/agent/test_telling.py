"""A tool call in one line, as people read it who wait."""

from __future__ import annotations

from typing import Any

import pytest

from habakkuk.agent.telling import telling
from habakkuk.core.redaction import Redactor
from habakkuk.llm.types import ToolCall


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"command": "go test ./...", "cwd": "x"}, "look: `go test ./...`"),
        ({"path": "notes/plan.md"}, "look: `notes/plan.md`"),
        ({"other": 5}, "look"),
        ({}, "look"),
        ({"command": "echo `id`\nrm x"}, "look: `echo 'id' rm x`"),
        ({"command": "curl -H key-4711-of-mine"}, "look: `curl -H [redacted]`"),
        ({"path": {"an": "object"}}, "look: `{'an': 'object'}`"),
    ],
)
def test_it_says_what_the_call_is_for_and_no_secret(given: dict[str, Any], line: str) -> None:
    call = ToolCall(id="c", name="look", input=given)
    assert telling(call, Redactor(["key-4711-of-mine"])) == line


def test_a_long_one_is_cut() -> None:
    call = ToolCall(id="c", name="look", input={"command": "x" * 500})
    assert len(telling(call, Redactor([]))) < 100
