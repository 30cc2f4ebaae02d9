"""What a worker has just seen of a session is used while it holds, and only then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from habakkuk.conversations.remembered import Remembered
from habakkuk.conversations.store import transcript
from habakkuk.gateway.types import Admitted
from tests.fakes.model_script import DONE, Reply, chunk, sums_up, text_of
from tests.fakes.model_server import ModelServer, Recorded
from tests.fakes.stack import Stack, until

SUMMARY = "What was said at first, in few words."
# As many as are remembered at all, and more.
TURNS = 20


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    model.script = scripted
    made = Stack(home, database_url, redis_url, model)
    yield made
    made.close()


def scripted(request: Recorded) -> Reply | None:
    if not sums_up(request.text):
        return None
    return Reply([chunk({"content": SUMMARY}), chunk({}, "stop"), DONE])


def talk(stack: Stack, about: str) -> Admitted:
    admitted = [stack.say(f"{about} {number}") for number in range(TURNS)]
    stack.ended(admitted[-1])
    return admitted[-1]


def compacted(stack: Stack, admitted: Admitted) -> None:
    stack.say("/compact")
    until(lambda: any("Summed up: about" in row.body for row in stack.rows(admitted)))


def sent(stack: Stack) -> str:
    """Return all that the model was sent last."""
    messages = stack.model.requests[-1].body["messages"]
    return "\n".join(text_of(message.get("content")) for message in messages)


def memory(stack: Stack) -> Remembered:
    """Return what the worker of this process has seen."""
    handler: Any = stack.container.handlers["turn"]
    found: Remembered = handler._ports.remembered
    return found


def must_not(*_: object) -> None:
    raise AssertionError("the transcript was read again")


def test_a_long_session_that_was_just_seen_is_not_read_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.start()
    admitted = talk(stack, "part")
    until(lambda: memory(stack).holds(admitted.session_id, 2 * TURNS))
    monkeypatch.setattr(transcript, "from_compaction", must_not)
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"
    assert len(stack.model.requests[-1].body["messages"]) == 1 + 2 * TURNS + 1


def test_one_that_was_summed_up_is_not_read_again(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack.start()
    compacted(stack, talk(stack, "early"))
    admitted = talk(stack, "late")
    # The turn that was the last before the summary stays to the letter.
    until(lambda: memory(stack).holds(admitted.session_id, 2 + 2 * TURNS))
    monkeypatch.setattr(transcript, "from_compaction", must_not)
    assert stack.reply(stack.say("and now?")).body == "echo: and now?"
    assert SUMMARY in sent(stack)
    assert "early 0" not in sent(stack)


def test_what_another_worker_added_is_read(stack: Stack) -> None:
    stack.start()
    session = talk(stack, "part").session_id
    until(lambda: memory(stack).holds(session, 2 * TURNS))
    seen = memory(stack).get(session, 0)
    assert seen is not None
    stack.ended(stack.say("elsewhere"))
    until(lambda: memory(stack).holds(session, 2 * TURNS + 2))
    memory(stack).put(session, seen)
    stack.ended(stack.say("and now?"))
    texts = [str(message["content"]) for message in stack.model.requests[-1].body["messages"]]
    assert [one for one in texts if "elsewhere" in one] == texts[-3:-1]


def test_what_another_worker_summed_up_is_sent_as_its_summary(stack: Stack) -> None:
    stack.start()
    admitted = talk(stack, "part")
    until(lambda: memory(stack).holds(admitted.session_id, 2 * TURNS))
    seen = memory(stack).get(admitted.session_id, 0)
    assert seen is not None
    compacted(stack, admitted)
    memory(stack).put(admitted.session_id, seen)
    stack.ended(stack.say("and now?"))
    assert SUMMARY in sent(stack)
    assert "part 0" not in sent(stack)
