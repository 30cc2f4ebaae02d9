"""What a model gets of a transcript: nothing that it cannot use."""

from __future__ import annotations

import pytest

from habakkuk.llm.contract import Profile
from habakkuk.llm.types import LlmRequest, Message, Role, Text
from habakkuk.llm.wire.outgoing import fitted

NOTED = Message(Role.USER, (Text(text="[Sun 2026-10-25 00:30 UTC]\n", note=True), Text(text="hi")))


def request() -> LlmRequest:
    return LlmRequest(system="Be brief.", messages=(NOTED,))


@pytest.mark.parametrize("tools", [True, False])
def test_a_model_that_would_repeat_notes_gets_none(*, tools: bool) -> None:
    (message,) = fitted(request(), Profile(notes=False, tools=tools)).messages
    assert message.text == "hi"


def test_other_models_are_told_the_time() -> None:
    assert fitted(request(), Profile()).messages == (NOTED,)
