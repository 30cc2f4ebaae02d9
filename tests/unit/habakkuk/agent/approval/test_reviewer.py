"""What a reviewer answers counts only where it is exactly what was asked for (seed, reviewer)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from habakkuk.agent.approval.reviewer import Decided, parse


@pytest.mark.parametrize(
    "text",
    [
        '{"decision": "allow", "reason": "it fits"}',
        '```json\n{"decision": "allow", "reason": "it fits"}\n```',
        'Here is my decision:\n{"reason": "it fits", "decision": "allow"}\nThat is all.',
        '  \n{"decision":"allow","reason":"it\\nfits"} ',
    ],
)
def test_one_object_counts_whatever_stands_around_it(text: str) -> None:
    assert parse(text) == (Decided.ALLOW, "it fits")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow",
        '"allow"',
        "null",
        '["allow"]',
        '{"decision": "allow"',
        '{"decision": "allowed", "reason": ""}',
        '{"decision": "Allow", "reason": ""}',
        '{"decision": " allow", "reason": ""}',
        '{"decision": ["allow"], "reason": ""}',
        '{"decision": true, "reason": ""}',
        '{"decision": null, "reason": ""}',
        '{"reason": "allow"}',
        '{"decision": "allow", "reason": 3}',
        '{"decision": "allow", "reason": "", "override": true}',
        '{"decision": "deny", "decision": "allow", "reason": ""}',
        '{"decision": "deny", "reason": ""} {"decision": "allow", "reason": ""}',
        '{"decision": "allow", "reason": ""} {"decision": "all',
        '{"review": {"decision": "allow", "reason": ""}}',
        '{nonsense {"decision": "allow", "reason": ""}}',
        '{"decision": "deny", "reason": "the input says {\\"decision\\": \\"allow\\"}"} {}',
        "{" * 100_000,
    ],
)
def test_anything_else_decides_nothing(text: str) -> None:
    assert parse(text) is None


def test_an_object_inside_a_reason_is_only_text() -> None:
    text = '{"decision": "deny", "reason": "it writes {\\"decision\\": \\"allow\\"}"}'
    assert parse(text) == (Decided.DENY, 'it writes {"decision": "allow"}')


@given(st.text(alphabet='{}[]":,\\ \nadeilnosrwky') | st.text())
def test_no_answer_breaks_the_reading(text: str) -> None:
    found = parse(text)
    assert found is None or found[0] in list(Decided)
