"""Anthropic's own search and fetch: their blocks go back as they came, and pauses are resumed."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from habakkuk.agent.repair import repair
from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Endpoint, Profile
from habakkuk.llm.providers.anthropic.adapter import build
from habakkuk.llm.types import (
    Block,
    Finished,
    LlmRequest,
    Media,
    Message,
    Opaque,
    Payload,
    Role,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolSpec,
    Usage,
    blocks_from_json,
    blocks_to_json,
)
from tests.fakes.model_messages import block, delta, end, event, start, stop
from tests.fakes.model_script import Part, Reply
from tests.fakes.model_server import ModelServer

ADD = ToolSpec("add", "Adds.", {"type": "object"})
SEARCHING = Profile(hosted_web=True)
CALLED = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "weather"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://x.example/",
            "title": "Rain",
            "encrypted_content": "EqgfCioIARgBIiQ3YTAwMjY1Mi1mZjM5",
            "page_age": None,
        }
    ],
}


def said(text: str) -> Message:
    return Message(Role.USER, (Text(text=text),))


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def ask(
    server: ModelServer,
    *parts: Part,
    messages: tuple[Message, ...] = (said("hello"),),
    model: str = "m",
    opening: int = 11,
    **more: Any,
) -> Finished:
    """Answer with these parts, or with a greeting, and return the end of the stream."""
    greeting = (block(0, "text", text=""), delta(0, "text", text="Hi"), stop(0), *end())
    server.script = lambda _: Reply((start(opening), *(parts or greeting)))
    provider = build(Endpoint("mine", server.base_url, "k"))
    request = LlmRequest("", messages, tools=(ADD,), web=True, **more)
    try:
        *_, last = provider.stream(model, request, SEARCHING, Interrupt())
    finally:
        provider.close()
    assert isinstance(last, Finished)
    assert server.violations == []
    return last


def sent(server: ModelServer) -> list[dict[str, Any]]:
    """Return the messages of the last request."""
    found: list[dict[str, Any]] = server.requests[-1].body["messages"]
    return found


def searched(*, found: bool = True, at: int = 0) -> list[Part]:
    named = {"id": "srvtoolu_1", "name": "web_search", "input": {}}
    pieces = [delta(at, "input_json", partial_json=piece) for piece in ('{"query": ', '"weather"}')]
    asked = [block(at, "server_tool_use", **named), *pieces, stop(at)]
    return [*asked, *(gave(at + 1) if found else [])]


def gave(at: int) -> list[Part]:
    result = {name: value for name, value in FOUND.items() if name != "type"}
    return [block(at, "web_search_tool_result", **result), stop(at)]


def spoken(text: str, index: int) -> list[Part]:
    return [block(index, "text", text=""), delta(index, "text", text=text), stop(index)]


def stored(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    return blocks_from_json(json.loads(json.dumps(blocks_to_json(blocks))))


def test_hosted_tools_stand_first_and_the_cache_point_at_the_last_function(
    server: ModelServer,
) -> None:
    ask(server)
    search, fetch, add = server.requests[0].body["tools"]
    assert (search["type"], search["name"]) == ("web_search_20260318", "web_search")
    assert (fetch["type"], fetch["name"]) == ("web_fetch_20260318", "web_fetch")
    assert "cache_control" not in search | fetch
    assert (search["max_uses"], fetch["max_uses"]) == (5, 5)
    assert add["cache_control"] == {"type": "ephemeral"}


def test_a_search_is_kept_and_goes_back_as_it_came(server: ModelServer) -> None:
    finished = ask(server, *searched(), *spoken("It rains.", 2), *end())
    assert finished.blocks == (
        Opaque(provider="mine", data=CALLED),
        Opaque(provider="mine", data=FOUND),
        Text(text="It rains."),
    )
    talk = (said("x"), Message(Role.ASSISTANT, stored(finished.blocks)), said("y"))
    ask(server, messages=talk)
    assert sent(server)[1]["content"] == [CALLED, FOUND, {"type": "text", "text": "It rains."}]


def test_citations_keep_their_text(server: ModelServer) -> None:
    cited = {"type": "web_search_result_location", "url": "https://x.example/", "cited_text": "…"}
    parts = [*spoken("It rains.", 0)[:2], delta(0, "citations", citation=cited), stop(0)]
    assert ask(server, *parts, *end()).blocks == (Text(text="It rains."),)


def test_a_pause_is_resumed_with_what_came_unchanged(server: ModelServer) -> None:
    paused = ask(server, *spoken("Looking.", 3), *searched(found=False), *end("pause_turn"))
    assert paused.stop is StopReason.PAUSE
    talk = repair((said("weather?"), Message(Role.ASSISTANT, stored(paused.blocks))))
    ask(server, messages=talk)
    assert [message["role"] for message in sent(server)] == ["user", "assistant"]
    assert sent(server)[1]["content"] == [{"type": "text", "text": "Looking."}, CALLED]


def test_a_resumed_answer_is_one_message(server: ModelServer) -> None:
    paused = Message(Role.ASSISTANT, (Opaque(provider="mine", data=CALLED),))
    rest = Message(Role.ASSISTANT, (Opaque(provider="mine", data=FOUND), Text(text="It rains.")))
    ask(server, messages=repair((said("weather?"), paused, rest, said("thanks"))))
    assert [message["role"] for message in sent(server)] == ["user", "assistant", "user"]
    assert [one["type"] for one in sent(server)[1]["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


@pytest.mark.parametrize("half", [CALLED, FOUND])
def test_half_a_search_is_left_out_once_the_conversation_went_on(
    server: ModelServer, half: dict[str, Any]
) -> None:
    blocks = (Text(text="Looking."), Opaque(provider="mine", data=half))
    ask(server, messages=(said("x"), Message(Role.ASSISTANT, blocks), said("never mind")))
    assert sent(server)[1]["content"] == [{"type": "text", "text": "Looking."}]


def test_where_another_provider_paused_the_model_is_told_to_go_on(server: ModelServer) -> None:
    blocks = (Text(text="Looking."), Opaque(provider="other", data=CALLED))
    ask(server, messages=(said("x"), Message(Role.ASSISTANT, blocks)))
    assert [message["role"] for message in sent(server)] == ["user", "assistant", "user"]
    assert "srvtoolu" not in json.dumps(sent(server))


def test_another_model_of_the_provider_gets_its_searches(server: ModelServer) -> None:
    blocks = (Opaque(provider="mine", data=CALLED), Opaque(provider="mine", data=FOUND))
    talk = (said("x"), Message(Role.ASSISTANT, (*blocks, Text(text="Rain."))), said("y"))
    ask(server, messages=talk, model="other")
    assert sent(server)[1]["content"][:2] == [CALLED, FOUND]


def test_searches_stay_when_refused_thinking_goes(server: ModelServer) -> None:
    # The fake refuses a signature that is not its own.
    blocks = (
        Thinking(text="hm", signature="bad", provider="mine", model="m"),
        Opaque(provider="mine", data=CALLED),
        Opaque(provider="mine", data=FOUND),
        Text(text="Rain."),
    )
    server.script = None
    provider = build(Endpoint("mine", server.base_url, "k"))
    talk = (said("x"), Message(Role.ASSISTANT, blocks), said("y"))
    list(provider.stream("m", LlmRequest("", talk), SEARCHING, Interrupt()))
    provider.close()
    assert [one["type"] for one in sent(server)[1]["content"]] == [
        "server_tool_use",
        "web_search_tool_result",
        "text",
    ]


def test_a_call_beside_a_search_is_run(server: ModelServer) -> None:
    used = [block(2, "tool_use", id="toolu_1", name="add", input={}), stop(2)]
    finished = ask(server, *searched(), *used, *end("tool_use"))
    assert finished.stop is StopReason.TOOL_USE
    assert finished.blocks[-1] == ToolCall(id="toolu_1", name="add", input={})


def passes(
    server: ModelServer, *parts: Part, opening: int, read: int, cached: int = 0, **told: int
) -> Usage:
    """Return the usage of an answer that began with `opening` tokens and read `read` in all."""
    counts = {"input_tokens": read - cached, "cache_read_input_tokens": cached}
    usage = {**counts, "output_tokens": 100, "server_tool_use": told}
    ending = {"delta": {"stop_reason": "end_turn"}, "usage": usage}
    return ask(server, *parts, event("message_delta", **ending), opening=opening).usage


def test_searches_are_counted_and_fetches_cost_only_their_tokens(server: ModelServer) -> None:
    """As https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-fetch-tool says."""
    parts = (*searched(), *spoken("Rain.", 2))
    told = {"web_search_requests": 2, "web_fetch_requests": 1}
    assert passes(server, *parts, opening=2000, read=9000, **told).searches == 2


def test_the_conversation_is_as_long_as_its_last_pass_with_the_answer(server: ModelServer) -> None:
    """The documented example: 2,679 tokens at the beginning, 10,682 in both passes."""
    parts = (*searched(), *spoken("Rain.", 2))
    usage = passes(server, *parts, opening=2679, read=10_682, cached=2000)
    assert (usage.input, usage.cache_read) == (10_682, 2000)
    assert usage.window == 10_682 - 2679 + 100


def test_many_searches_do_not_make_a_conversation_many_times_as_long(server: ModelServer) -> None:
    again = [part for index in range(0, 10, 2) for part in searched(at=index)]
    usage = passes(server, *again, *spoken("Rain.", 10), opening=50_000, read=315_000)
    # Five more passes of 50,000 and more, which read 15,000 of results between them.
    assert usage.window == 65_100


def test_searches_side_by_side_are_read_in_one_pass(server: ModelServer) -> None:
    both = [*searched(found=False), *searched(found=False, at=1), *gave(2), *gave(3)]
    usage = passes(server, *both, *spoken("Rain.", 4), opening=2000, read=9000)
    assert usage.window == 7100


def test_a_service_that_counts_no_passes_is_believed(server: ModelServer) -> None:
    usage = passes(server, *searched(), *spoken("Rain.", 2), opening=2000, read=2000)
    assert usage.window == 2100


def test_without_the_count_of_the_first_pass_the_length_is_not_known(server: ModelServer) -> None:
    usage = passes(server, *searched(), *spoken("Rain.", 2), opening=0, read=9000)
    assert usage.window == 0


def test_where_nothing_was_searched_the_counts_are_the_length(server: ModelServer) -> None:
    assert passes(server, *spoken("Hi", 0), opening=2000, read=2000).window is None


def test_files_have_the_documented_shape(server: ModelServer) -> None:
    files = {"i": Payload("image/png", b"png"), "p": Payload("application/pdf", b"pdf")}
    blocks = (
        Media(blob="i", mime="image/png"),
        Media(blob="p", mime="application/pdf", name="a.pdf"),
    )
    ask(server, messages=(Message(Role.USER, blocks),), payloads=files)
    image, paper = sent(server)[0]["content"]
    assert image == {
        "type": "image",
        "source": {
            "type": "base64",
            "media_type": "image/png",
            "data": base64.b64encode(b"png").decode(),
        },
    }
    assert paper == {
        "type": "document",
        "source": {
            "type": "base64",
            "media_type": "application/pdf",
            "data": base64.b64encode(b"pdf").decode(),
        },
        "title": "a.pdf",
        "cache_control": {"type": "ephemeral"},
    }
