"""The OpenAI-compatible API, seen through OpenAI's own client."""

from __future__ import annotations

import threading
from typing import Any

import httpx2
import openai
import pytest

from tests.integration.web.served import Served, events


@pytest.fixture
def sdk(served: Served) -> openai.OpenAI:
    client = httpx2.Client(trust_env=False, timeout=30)
    served.clients.append(client)
    return openai.OpenAI(
        api_key=served.token, base_url=f"{served.base_url}/v1", max_retries=0, http_client=client
    )


def _body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "habakkuk/habakkuk", "messages": [{"role": "user", "content": text}], **more}


def test_the_sdk_gets_a_whole_answer(served: Served, sdk: openai.OpenAI) -> None:
    served.stack.start()
    answer = sdk.chat.completions.create(
        model="habakkuk/habakkuk", messages=[{"role": "user", "content": "hello"}]
    )
    assert answer.choices[0].message.content == "echo: hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "habakkuk/habakkuk"
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert answer.usage.completion_tokens > 0


def test_the_sdk_streams_an_answer(served: Served, sdk: openai.OpenAI) -> None:
    served.stack.start()
    stream = sdk.chat.completions.create(
        model="any other name",
        messages=[{"role": "user", "content": "hello [[tokens 4]] [[delay 0.02]]"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [
        c.choices[0].delta.content for c in chunks if c.choices and c.choices[0].delta.content
    ]
    assert "".join(pieces).startswith("echo: hello")
    assert len(pieces) > 1
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage is not None
    assert {c.id for c in chunks} == {chunks[0].id}


def test_two_requests_at_once_on_one_session_are_answered_in_order(served: Served) -> None:
    served.stack.start()
    first = served.client.post("/v1/chat/completions", json=_body("zero"))
    session = first.headers["X-Habakkuk-Session"]
    answers: dict[str, str] = {}

    def ask(text: str) -> None:
        client = served.new_client(served.token)
        got = client.post(
            "/v1/chat/completions", json=_body(text), headers={"X-Habakkuk-Session": session}
        )
        answers[text] = got.json()["choices"][0]["message"]["content"]

    threads = [threading.Thread(target=ask, args=(f"[[delay 0.05]] q{n}",)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert answers == {f"[[delay 0.05]] q{n}": f"echo: q{n}" for n in range(2)}
    transcript = served.client.get(f"/api/sessions/{session}").json()["messages"]
    assert [m["role"] for m in transcript] == ["user", "assistant"] * 3


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_the_models_limit_cut_ends_with_length(
    served: Served, sdk: openai.OpenAI, *, stream: bool
) -> None:
    served.stack.start()
    asked: Any = {
        "model": "habakkuk/habakkuk",
        "messages": [{"role": "user", "content": "[[finish length]] half an"}],
        "stream": stream,
    }
    answer: Any = sdk.chat.completions.create(**asked)
    last = list(answer)[-1] if stream else answer
    assert last.choices[0].finish_reason == "length"


def test_a_session_goes_on_with_the_last_message_alone(served: Served) -> None:
    served.stack.start()
    session = served.client.post("/v1/chat/completions", json=_body("one")).headers[
        "X-Habakkuk-Session"
    ]
    body = _body("two")
    body["messages"].insert(0, {"role": "user", "content": "never said"})
    again = served.client.post(
        "/v1/chat/completions", json=body, headers={"X-Habakkuk-Session": session}
    )
    assert again.headers["X-Habakkuk-Session"] == session
    texts = [m["content"] for m in served.stack.model.requests[-1].body["messages"]]
    assert "never said" not in str(texts)
    assert "one" in str(texts)


def test_a_new_session_begins_with_the_earlier_messages(served: Served) -> None:
    served.stack.start()
    messages = [
        {"role": "system", "content": "Speak Dutch."},
        {"role": "user", "content": "hallo"},
        {"role": "assistant", "content": "dag"},
        {"role": "user", "content": "hoe gaat het"},
    ]
    answer = served.client.post("/v1/chat/completions", json={"model": "x", "messages": messages})
    assert answer.json()["choices"][0]["message"]["content"] == "echo: hoe gaat het"
    sent = served.stack.model.requests[-1].body["messages"]
    spoken = [m for m in sent if m["role"] != "system"]
    assert [m["role"] for m in spoken] == ["user", "assistant", "user"]
    assert "Speak Dutch." in str(spoken[0]["content"])
    assert "hallo" in str(spoken[0]["content"])


def test_instructions_alone_lead_the_first_message(served: Served) -> None:
    served.stack.start()
    messages = [
        {"role": "system", "content": "Speak Dutch."},
        {"role": "user", "content": "hallo"},
    ]
    answer = served.client.post("/v1/chat/completions", json={"messages": messages})
    session = answer.headers["X-Habakkuk-Session"]
    transcript = served.client.get(f"/api/sessions/{session}").json()["messages"]
    assert [m["role"] for m in transcript] == ["user", "assistant"]
    first = "".join(block["text"] for block in transcript[0]["blocks"])
    assert "Speak Dutch." in first
    assert first.endswith("hallo")


def test_a_stream_says_when_its_answer_begins_again(served: Served) -> None:
    served.stack.start()
    body = _body("hello [[tokens 30]] [[delay 0.05]]", stream=True)
    pieces = []
    with served.client.stream("POST", "/v1/chat/completions", json=body) as stream:
        for event in events(stream):
            if event.data == "[DONE]":
                break
            text = event.json["choices"][0]["delta"].get("content", "") if event.data else ""
            pieces.append(text)
            if text.strip() and len(pieces) == 4:
                served.stack.stop()
                served.stack.start()
    before, mark, after = "".join(pieces).partition("\n\n[interrupted, answering again]\n\n")
    assert before.startswith("echo:")
    assert mark
    assert after.startswith("echo: hello")
    turn = served.client.get(f"/api/sessions/{stream.headers['X-Habakkuk-Session']}").json()
    assert turn["messages"][-1]["blocks"][0]["text"].strip() == after.strip()


def test_a_blank_line_stands_where_a_tool_call_fell(served: Served) -> None:
    served.stack.start()
    body = _body("I look. [[tool look {}]]", stream=True)
    with served.client.stream("POST", "/v1/chat/completions", json=body) as stream:
        came = [event.json for event in events(stream) if event.data and event.data != "[DONE]"]
    pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in came]
    session = stream.headers["X-Habakkuk-Session"]
    messages = served.client.get(f"/api/sessions/{session}").json()["messages"]
    said = [
        "".join(b["text"] for b in m["blocks"] if b["type"] == "text").strip()
        for m in messages
        if m["role"] == "assistant"
    ]
    assert len(said) == 2
    assert "".join(pieces).strip() == "\n\n".join(filter(None, said))


def test_a_client_that_goes_leaves_the_turn_running(served: Served) -> None:
    served.stack.start()
    body = _body("hello [[tokens 20]] [[delay 0.03]]", stream=True)
    with served.client.stream("POST", "/v1/chat/completions", json=body) as stream:
        next(events(stream))
        session = stream.headers["X-Habakkuk-Session"]
    again = served.client.post(
        "/v1/chat/completions", json=_body("more"), headers={"X-Habakkuk-Session": session}
    )
    assert again.json()["choices"][0]["message"]["content"] == "echo: more"
    messages = served.client.get(f"/api/sessions/{session}").json()["messages"]
    assert [m["role"] for m in messages] == ["user", "assistant"] * 2
    assert messages[1]["blocks"][0]["text"].startswith("echo: hello")


def test_an_idempotency_key_attaches_to_the_first_turn(served: Served) -> None:
    served.stack.start()
    headers = {"Idempotency-Key": "k1"}
    first = served.client.post("/v1/chat/completions", json=_body("hello"), headers=headers)
    again = served.client.post("/v1/chat/completions", json=_body("hello"), headers=headers)
    assert again.json() == first.json()
    assert again.headers["X-Habakkuk-Session"] == first.headers["X-Habakkuk-Session"]
    assert len(served.stack.model.requests) == 1


def test_a_retry_while_the_first_runs_gets_the_same_answer(served: Served) -> None:
    headers = {"Idempotency-Key": "k1"}
    answers: list[Any] = []

    def ask() -> None:
        client = served.new_client(served.token)
        answers.append(client.post("/v1/chat/completions", json=_body("hello"), headers=headers))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    served.stack.start()
    for thread in threads:
        thread.join(20)
    assert answers[0].json() == answers[1].json()
    assert len(served.stack.model.requests) == 1


def test_another_request_under_a_used_key_is_refused(served: Served) -> None:
    served.stack.start()
    headers = {"Idempotency-Key": "k1"}
    served.client.post("/v1/chat/completions", json=_body("hello"), headers=headers)
    other = served.client.post("/v1/chat/completions", json=_body("bye"), headers=headers)
    assert other.status_code == 409


def test_models_are_the_agents(sdk: openai.OpenAI) -> None:
    assert [m.id for m in sdk.models.list()] == [
        f"habakkuk/{agent}" for agent in ("habakkuk", "careful", "reader", "other")
    ]


def test_a_failed_turn_is_an_error_with_its_session(served: Served) -> None:
    served.stack.start()
    answer = served.client.post("/v1/chat/completions", json=_body("[[status 401]]"))
    assert answer.status_code == 502
    assert answer.headers["X-Habakkuk-Session"]
    error = answer.json()["error"]
    assert error["type"] == "api_error"
    assert "mine" in error["message"]


def test_a_turn_that_fails_in_a_stream_ends_it_with_an_error(served: Served) -> None:
    served.stack.start()
    body = _body("[[status 401]]", stream=True)
    with served.client.stream("POST", "/v1/chat/completions", json=body) as stream:
        came = [event.data for event in events(stream) if event.data]
    assert '"error"' in came[-2]
    assert came[-1] == "[DONE]"


def test_a_slash_is_text_here(served: Served) -> None:
    served.stack.start()
    answer = served.client.post("/v1/chat/completions", json=_body("/new"))
    assert answer.json()["choices"][0]["message"]["content"] == "echo: /new"


def test_what_is_not_offered_is_refused(served: Served) -> None:
    image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, "tools"),
        ({"functions": [{"name": "f"}]}, "functions"),
        ({"n": 2}, "n"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, "messages.0.role"),
        ({"messages": []}, "messages"),
        ({"messages": image}, "messages.0.content.0"),
        ({"stream": "yes"}, "stream"),
    ]
    for change, param in changes:
        answer = served.client.post("/v1/chat/completions", json=_body("hello") | change)
        assert answer.status_code == 400
        assert answer.json()["error"]["param"] == param
    assert served.client.get("/api/sessions").json()["sessions"] == []


def test_sampling_parameters_are_ignored(served: Served) -> None:
    served.stack.start()
    body = _body("hello", temperature=2, top_p=0.1, max_tokens=1, seed=1, tools=[], n=1)
    assert served.client.post("/v1/chat/completions", json=body).status_code == 200


def test_one_model_can_be_looked_up(served: Served) -> None:
    found = served.client.get("/v1/models/habakkuk/other")
    assert found.json()["id"] == "habakkuk/other"
    assert served.client.get("/v1/models/gpt-5").status_code == 404
