"""The fake model: what it answers is the same for the same transcript, and it is strict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.fakes.model_server import ModelServer


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def post(base_url: str, *messages: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps({"model": "m", "messages": list(messages)}).encode()
    request = Request(f"{base_url}/chat/completions", body, {"content-type": "application/json"})
    with urlopen(request, timeout=20) as reply:
        choice: dict[str, Any] = json.load(reply)["choices"][0]
    return choice


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def result(call: dict[str, Any], text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call["id"], "content": text}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hello", "echo: hello"),
        ("[Monday 10:00]\nhello [you]", "echo: hello [you]"),
        ("[Monday 10:00]\n[[delay 0]] hello", "echo: hello"),
        ("[[tokens 2]] hi", "echo: hi token0 token1"),
        ("two\nlines", "echo: two\nlines"),
        ("[[open", "echo: [[open"),
    ],
)
def test_it_echoes_what_was_said(server: ModelServer, text: str, answer: str) -> None:
    assert post(server.base_url, user(text))["message"]["content"] == answer


def test_tools_are_asked_for_step_by_step_and_then_quoted(server: ModelServer) -> None:
    said = user('[[tool a {"x": [[1]]}]] [[tool b {}]] [[next]] [[tool c {}]] go')
    first = post(server.base_url, said)
    a, b = first["message"]["tool_calls"]
    assert (a["function"]["name"], b["function"]["name"]) == ("a", "b")
    assert json.loads(a["function"]["arguments"]) == {"x": [[1]]}
    assert first["finish_reason"] == "tool_calls"
    transcript = [said, first["message"], result(a, "1"), result(b, "2")]
    second = post(server.base_url, *transcript)
    (c,) = second["message"]["tool_calls"]
    assert c["function"]["name"] == "c"
    third = post(server.base_url, *transcript, second["message"], result(c, "3"))
    assert third["message"]["content"] == "results: 1 | 2 | 3"
    assert server.violations == []


def test_the_same_transcript_gets_the_same_call_ids(server: ModelServer) -> None:
    said = user("[[tool a {}]]")
    assert post(server.base_url, said) == post(server.base_url, said)


ROOT = Path(__file__).parents[3]
CALLS = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c", "function": {"name": "a"}}],
}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [user("x"), CALLS],
        [user("x"), CALLS, user("y")],
        [user("x"), {"role": "tool", "tool_call_id": "c", "content": "1"}],
        [user("x"), CALLS, result({"id": "other"}, "1")],
        [user("x"), CALLS, result({"id": "c"}, "1"), result({"id": "c"}, "1")],
        [user("x"), CALLS, result({"id": "c"}, "1"), CALLS, result({"id": "c"}, "1")],
        [
            user("x"),
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "", "function": {"name": "a"}}],
            },
        ],
        [user("x"), {"role": "assistant", "content": ""}],
        [user("")],
        [{"role": "", "content": "x"}],
    ],
)
def test_a_broken_transcript_is_refused(
    server: ModelServer, messages: list[dict[str, Any]]
) -> None:
    with pytest.raises(HTTPError) as caught:
        post(server.base_url, *messages)
    assert caught.value.code == 400
    caught.value.close()
    assert server.violations


def test_it_runs_as_a_process_and_tells_what_came() -> None:
    command = [sys.executable, "-m", "tests.fakes.model_server", "--control"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            base_url = process.stdout.readline().strip()
            post(base_url, user("hello"))
            with urlopen(base_url.removesuffix("/v1") + "/control/requests", timeout=20) as reply:
                seen = json.load(reply)
        finally:
            process.kill()
    assert [(r["id"], r["text"], r["messages"]) for r in seen["requests"]] == [(0, "hello", 1)]
    assert seen["disconnects"] == []
