"""What the model saw can be looked at afterwards, by its parts, as it was sent then."""

from __future__ import annotations

import pytest

from habakkuk.agent.inspection import Inspection
from habakkuk.core.errors import NotFound
from habakkuk.gateway.types import Admitted
from habakkuk.llm.counting import exact_count
from tests.fakes.stack import Stack


def inspected(stack: Stack, admitted: Admitted, turn: str | None = None) -> Inspection:
    return stack.container.inspections().of(stack.principal, admitted.session_id, turn)


def test_a_request_is_told_by_its_parts_in_their_order(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("[[tool look {}]] what is there?")
    stack.ended(admitted)
    found = inspected(stack, admitted)
    assert [part.kind for part in found.parts] == [
        "prompt",
        "prompt",
        "tools",
        "message",
        "message",
        "message",
    ]
    assert [part.name for part in found.parts[-3:]] == ["user", "calls look", "1 result"]
    assert "what is there?" in found.parts[3].excerpt


def test_the_provider_is_quoted_on_how_long_it_was(stack: Stack) -> None:
    stack.start()
    admitted = stack.say("hello")
    stack.ended(admitted)
    found = inspected(stack, admitted)
    sent = stack.model.requests[-1].body["messages"]
    assert found.counted == 1 + sum(len(str(message["content"])) for message in sent) // 4
    assert found.cached == 0
    assert [call.outcome for call in found.calls] == ["answered"]


def test_an_earlier_turn_is_shown_as_it_was_then(stack: Stack) -> None:
    stack.start()
    first, second = stack.say("the first"), stack.say("the second")
    stack.ended(second)
    told = [part.excerpt for part in inspected(stack, second, first.turn_id).parts]
    assert any("the first" in text for text in told)
    assert not any("the second" in text for text in told)


def test_a_summary_stands_for_what_was_left_out(stack: Stack) -> None:
    stack.start()
    said = [stack.say(f"part {number} " + "word " * 200) for number in range(3)]
    stack.ended(said[-1])
    stack.say("/compact")
    after = stack.say("and now?")
    stack.ended(after)
    found = inspected(stack, after)
    assert found.left_out == 4
    assert "summary" in [part.kind for part in found.parts]
    assert inspected(stack, after, said[-1].turn_id).left_out == 0


def test_a_session_without_an_answer_says_so(stack: Stack) -> None:
    with pytest.raises(NotFound, match="no model has answered"):
        inspected(stack, stack.say("hello"))


def test_tokens_are_counted_with_a_vocabulary_where_that_matters() -> None:
    # As OpenAI's own tokenizer has it for o200k_base.
    assert exact_count()("hello world") == 2
