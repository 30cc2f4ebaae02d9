"""OpenAI's SDK for Python against the running system."""

from __future__ import annotations

import threading

import openai

from scripts.drills.world import World

AGENT = "habakkuk/habakkuk"
SESSION = "X-Habakkuk-Session"


def test_it_lists_the_agents(sdk: openai.OpenAI) -> None:
    assert [model.id for model in sdk.models.list()] == [AGENT, "habakkuk/careful"]


def test_it_streams_an_answer_piece_by_piece(sdk: openai.OpenAI) -> None:
    stream = sdk.chat.completions.create(
        model=AGENT,
        messages=[{"role": "user", "content": "stream this [[tokens 5]] [[delay 0.02]]"}],
        stream=True,
    )
    pieces = [
        c.choices[0].delta.content for c in stream if c.choices and c.choices[0].delta.content
    ]
    assert len(pieces) > 3
    assert "".join(pieces) == "echo: stream this token0 token1 token2 token3 token4"


def test_two_requests_at_once_on_one_session_are_answered_in_order(
    world: World, sdk: openai.OpenAI
) -> None:
    opening = sdk.chat.completions.with_raw_response.create(
        model=AGENT, messages=[{"role": "user", "content": "open a session"}]
    )
    session = opening.headers[SESSION]
    answers: dict[str, str | None] = {}

    def ask(word: str) -> None:
        answer = sdk.chat.completions.create(
            model=AGENT,
            messages=[{"role": "user", "content": f"{word} [[tokens 5]] [[delay 0.05]]"}],
            extra_headers={SESSION: session},
        )
        answers[word] = answer.choices[0].message.content

    first, second = (threading.Thread(target=ask, args=(word,)) for word in ("first", "second"))
    first.start()
    world.await_true(lambda: bool(world.model_calls("first [[")), "the first request")
    second.start()
    first.join()
    second.join()
    tail = " token0 token1 token2 token3 token4"
    assert answers == {word: f"echo: {word}{tail}" for word in ("first", "second")}
    transcript = world.api.get(f"/api/sessions/{session}").body["messages"]
    said = [block["text"] for message in transcript for block in message["blocks"]]
    spoken = [text for text in said if not text.startswith("[")]
    assert spoken == [
        "open a session",
        "echo: open a session",
        "first [[tokens 5]] [[delay 0.05]]",
        f"echo: first{tail}",
        "second [[tokens 5]] [[delay 0.05]]",
        f"echo: second{tail}",
    ]


def test_a_tool_is_used_and_its_result_answered_with(world: World, sdk: openai.OpenAI) -> None:
    text = 'use it [[tool mark {"mark": "sdk.1"}]]'
    answer = sdk.chat.completions.create(model=AGENT, messages=[{"role": "user", "content": text}])
    assert answer.choices[0].message.content == "results: done sdk.1"
    assert world.effects().count("sdk.1") == 1


def test_a_big_message_is_answered_whole(sdk: openai.OpenAI) -> None:
    word = "é" * 400_000
    answer = sdk.chat.completions.create(model=AGENT, messages=[{"role": "user", "content": word}])
    assert answer.choices[0].message.content == f"echo: {word}"
