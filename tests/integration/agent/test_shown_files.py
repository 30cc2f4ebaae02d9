"""Images that tools show: after the results, over crashes, until nothing names them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text as sql

from habakkuk.ops.store import unnamed_blobs
from tests.fakes.model_server import ModelServer
from tests.fakes.pictures import plain, quarters, written
from tests.fakes.stack import Points, Stack, until
from tests.integration.agent.crashes import crashed, restart

SEER = "  seer: {model: mine/gpt-4o, permissions: full}\n"
RED, GREEN = written(plain(9, 9, "red"), "PNG"), written(plain(9, 9, "green"), "PNG")
LOOK = '[[tool view_image {"path": "red.png"}]] look'
BOTH = '[[tool view_image {"path": "red.png"}]] [[tool view_image {"path": "green.png"}]] look'


@pytest.fixture
def seeing(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    """A server whose main agent has a model that sees."""
    made = Stack(home, database_url, redis_url, model, SEER + "default_agent: seer\n")
    folder = home / "agents" / "seer" / "workspace"
    folder.mkdir(parents=True)
    (folder / "red.png").write_bytes(RED)
    (folder / "green.png").write_bytes(GREEN)
    yield made
    made.close()


def uri(data: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(data).decode()


def last_messages(stack: Stack) -> list[dict[str, Any]]:
    """Return the last request's messages from the calls on."""
    messages: list[dict[str, Any]] = stack.model.requests[-1].body["messages"]
    calls = max(n for n, m in enumerate(messages) if m.get("tool_calls"))
    return messages[calls:]


def test_the_model_sees_an_image_after_the_results(seeing: Stack) -> None:
    seeing.start()
    admitted = seeing.say(LOOK)
    seeing.reply(admitted)
    _, result, shown = last_messages(seeing)
    assert (result["role"], shown["role"]) == ("tool", "user")
    assert "red.png: 9×9 pixels" in result["content"]
    assert shown["content"] == [{"type": "image_url", "image_url": {"url": uri(RED)}}]
    assert ("user", ["tool_result", "media"]) in seeing.transcript(admitted)


def test_several_images_stand_after_all_results_each_under_its_name(seeing: Stack) -> None:
    seeing.start()
    admitted = seeing.say(BOTH)
    seeing.reply(admitted)
    roles = [message["role"] for message in last_messages(seeing)]
    assert roles == ["assistant", "tool", "tool", "user"]
    parts = last_messages(seeing)[-1]["content"]
    told = [part.get("text") or part["image_url"]["url"] for part in parts]
    assert told == ["(red.png:)", uri(RED), "(green.png:)", uri(GREEN)]


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("tool.start.after", 1),
        ("tool.run.after", 1),
        ("tool.record.after", 1),
        ("turn.append.before", 2),
        ("turn.append.after", 2),
        ("model.call.before", 2),
    ],
)
def test_an_image_survives_a_crash_anywhere(seeing: Stack, point: str, number: int) -> None:
    points = Points({point: number})
    seeing.start(points)
    admitted = seeing.say(LOOK)
    crashed(seeing, points, point, number)
    restart(seeing, admitted)
    seeing.reply(admitted)
    assert last_messages(seeing)[-1]["content"][0]["image_url"]["url"] == uri(RED)
    assert seeing.transcript(admitted).count(("user", ["tool_result", "media"])) == 1


def test_a_model_that_sees_nothing_is_told_so(stack: Stack) -> None:
    folder = stack.home / "agents" / "habakkuk" / "workspace"
    folder.mkdir(parents=True)
    (folder / "red.png").write_bytes(written(quarters(20), "PNG"))
    stack.start()
    stack.reply(stack.say(LOOK))
    note = last_messages(stack)[-1]["content"]
    assert note.startswith("(image red.png, ")
    assert note.endswith("this model cannot see images)")


def test_a_recorded_image_is_kept_while_its_step_waits(seeing: Stack) -> None:
    """No transcript names it yet: another call of the step may wait for a person for days."""
    points = Points({"turn.append.before": 2})
    seeing.start(points)
    admitted = seeing.say(LOOK)
    crashed(seeing, points, "turn.append.before", 2)
    database = seeing.container.database
    database.run(sql("UPDATE blobs SET stored = now() - interval '3 d'"))
    assert ("user", ["tool_result", "media"]) not in seeing.transcript(admitted)
    assert unnamed_blobs(database, 86_400, 10) == []
    database.run(sql("UPDATE tool_calls SET result = result - 'media'"))
    assert unnamed_blobs(database, 86_400, 10) == [hashlib.sha256(RED).hexdigest()]


def test_a_stopped_turn_keeps_what_was_shown(seeing: Stack) -> None:
    seeing.start()
    shown = '[[tool view_image {"path": "red.png"}]] [[tool ask {"question": "go?"}]] look'
    admitted = seeing.say(shown)
    until(lambda: seeing.journal(admitted).get("ask", ("",))[0] == "waiting")
    until(lambda: seeing.journal(admitted).get("view_image", ("",))[0] == "done")
    seeing.say("/stop")
    seeing.ended(admitted)
    assert ("user", ["tool_result", "tool_result", "media"]) in seeing.transcript(admitted)
