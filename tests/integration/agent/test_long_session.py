"""A session of 3,000 messages with calls, pictures and one enormous result needs one summary."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from habakkuk.conversations.store import compactions, transcript
from habakkuk.conversations.types import Outcome
from habakkuk.gateway.types import Admitted
from habakkuk.llm.types import Media, Message, Role, Text, ToolCall, ToolResult
from tests.fakes.model_script import DONE, Reply, chunk, sums_up
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack

LIMIT = 150_000
MESSAGES = 3_000
# "word " is one token in the vocabularies of the usual models.
ENORMOUS = "word " * 300_000
AGENTS = f"""
  long: {{model: mine/gpt-5.5, permissions: full, compact_at: {LIMIT}}}
"""


class Strict:
    """A model that takes no more than the limit, and keeps what it was asked."""

    def __init__(self) -> None:
        self.summaries = 0
        self.refused = 0
        self.last: Recorded | None = None

    def __call__(self, request: Recorded) -> Reply | None:
        if len(json.dumps(request.body)) > 4 * LIMIT:
            self.refused += 1
            error = b'{"error": {"code": "context_length_exceeded", "message": "too long"}}'
            return Reply([error], status=400, content_type="application/json")
        if sums_up(request.text):
            self.summaries += 1
            words = "The user and the assistant looked at many pictures. Open: nothing."
            return Reply([chunk({"content": words}), chunk({}, "stop"), DONE])
        self.last = request
        return None


@pytest.fixture
def strict(model: ModelServer) -> Strict:
    made = Strict()
    model.script = made
    return made


@pytest.fixture
def stack(
    home: Path, database_url: str, redis_url: str, model: ModelServer, strict: Strict
) -> Iterator[Stack]:
    assert strict.refused == 0
    made = Stack(home, database_url, redis_url, model, more=AGENTS)
    yield made
    made.close()


def picture(stack: Stack) -> str:
    """Store a small picture and return its blob."""
    file = BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return stack.container.blobs.put(file.getvalue(), "image/png")


def fill(stack: Stack, admitted: Admitted) -> None:
    """Write what 750 earlier turns would have left, the enormous result in the last of them."""
    blob = picture(stack)
    with stack.container.database.transaction() as work:
        for n in range(MESSAGES // 4):
            result = ENORMOUS if n == MESSAGES // 4 - 1 else f"result {n} " + "word " * 60
            turn = [
                Message(Role.USER, (Text(text=f"question {n}"),)),
                Message(Role.ASSISTANT, (ToolCall(id=f"c{n}", name="look", input={"n": n}),)),
                Message(
                    Role.USER,
                    (
                        ToolResult(call_id=f"c{n}", text=result),
                        *([Media(blob=blob, mime="image/png")] if n % 5 == 0 else []),
                    ),
                ),
                Message(Role.ASSISTANT, (Text(text=f"answer {n} " + "word " * 40),)),
            ]
            for step, message in enumerate(turn):
                transcript.append(work, admitted.session_id, f"old-{n}", step, message)


@pytest.mark.slow
def test_three_thousand_messages_are_within_the_limit_after_one_summary(
    stack: Stack, strict: Strict
) -> None:
    stack.start()
    first = stack.say("hello", agent="long")
    stack.ended(first)
    fill(stack, first)
    task = stack.say("[[tool look {}]] name the capital of France", agent="long")
    assert stack.ended(task).outcome is Outcome.ANSWERED
    assert (strict.summaries, strict.refused) == (1, 0)
    assert len(compactions.of_session(stack.container.database, first.session_id)) == 1
    assert strict.last is not None
    sent = json.dumps(strict.last.body)
    assert "name the capital of France" in sent
    assert "question 5 " not in sent
    # That every call stands beside its result, the fake service checks of every request.
    assert stack.model.violations == []
