from __future__ import annotations

from typing import Any

import pytest

from habakkuk.interop.openai_chat import (
    CompletionRequest,
    Frame,
    agent_of,
    completion,
    error_body,
    read,
)
from habakkuk.interop.refused import RefusedParameter
from habakkuk.llm.types import Usage


def request(*messages: tuple[str, Any], **more: Any) -> CompletionRequest:
    spoken = [{"role": role, "content": content} for role, content in messages]
    return CompletionRequest.model_validate({"model": "m", "messages": spoken, **more})


def spoken(seed: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(m["role"], "".join(b["text"] for b in m["blocks"])) for m in seed]


def test_the_last_user_message_is_what_is_asked() -> None:
    asked = read(request(("user", "hello")))
    assert (asked.text, asked.seed) == ("hello", [])


def test_text_parts_are_one_text() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    assert read(request(("user", parts))).text == "one\ntwo"


def test_earlier_messages_become_the_seed() -> None:
    asked = read(request(("user", "a"), ("assistant", "b"), ("user", "c")))
    assert spoken(asked.seed) == [("user", "a"), ("assistant", "b")]


def test_system_and_developer_messages_become_a_note_at_the_start() -> None:
    asked = read(
        request(
            ("system", "Be brief."),
            ("user", "a"),
            ("assistant", "b"),
            ("developer", "Speak Dutch."),
            ("user", "c"),
        )
    )
    note = "[Instructions from the client]\nBe brief.\n\nSpeak Dutch.\n\n"
    assert spoken(asked.seed) == [("user", note + "a"), ("assistant", "b")]


def test_the_seed_begins_with_the_user_and_alternates() -> None:
    asked = read(
        request(
            ("assistant", "welcome"),
            ("user", "a"),
            ("user", "b"),
            ("assistant", ""),
            ("assistant", "c"),
            ("user", "d"),
        )
    )
    assert [role for role, _ in spoken(asked.seed)] == ["user", "assistant", "user", "assistant"]
    assert spoken(asked.seed)[2] == ("user", "a\n\nb")


@pytest.mark.parametrize("role", ["tool", "function", "narrator", ""])
def test_roles_of_a_client_that_runs_tools_are_refused(role: str) -> None:
    with pytest.raises(RefusedParameter) as caught:
        read(request((role, "x"), ("user", "y")))
    assert caught.value.param == "messages.0.role"


@pytest.mark.parametrize("kind", ["image_url", "input_audio", "file", ""])
def test_content_that_is_no_text_is_refused(kind: str) -> None:
    with pytest.raises(RefusedParameter) as caught:
        read(request(("user", [{"type": kind}])))
    assert caught.value.param == "messages.0.content.0"


def test_a_fingerprint_tells_requests_apart() -> None:
    one = read(request(("user", "a"))).fingerprint("m")
    assert read(request(("user", "a"), stream=True)).fingerprint("m") == one
    assert read(request(("user", "a"))).fingerprint("other") != one
    assert read(request(("user", "b"))).fingerprint("m") != one
    assert read(request(("user", "x"), ("user", "a"))).fingerprint("m") != one


@pytest.mark.parametrize(
    ("model", "agent"),
    [
        ("habakkuk/writer", "writer"),
        ("habakkuk/nobody", "habakkuk"),
        ("writer", "habakkuk"),
        ("gpt-5", "habakkuk"),
        ("", "habakkuk"),
    ],
)
def test_any_other_model_name_means_the_default_agent(model: str, agent: str) -> None:
    assert agent_of(model, ["habakkuk", "writer"], "habakkuk") == agent


def test_an_answer_has_the_documented_shape() -> None:
    frame = Frame("t1", "s1", "habakkuk/habakkuk", 1_700_000_000)
    body = completion(frame, "hi", "stop", Usage(10, 3, 4, 0, 2))
    assert body["id"] == "chatcmpl-t1"
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"] == {
        "role": "assistant",
        "content": "hi",
        "refusal": None,
    }
    assert body["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "total_tokens": 13,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


def test_an_error_has_the_documented_shape() -> None:
    assert error_body("no", "invalid_request_error", "n") == {
        "error": {"message": "no", "type": "invalid_request_error", "param": "n", "code": None}
    }
