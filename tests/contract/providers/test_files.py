"""Images and PDFs as every format sends them, and the service's own search."""

from __future__ import annotations

import base64
import json

import pytest

from habakkuk.core.interrupt import Interrupt
from habakkuk.llm.contract import Profile
from habakkuk.llm.types import (
    Finished,
    LlmRequest,
    Media,
    Message,
    Opaque,
    Payload,
    Role,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from tests.contract.providers.conftest import Bench
from tests.contract.providers.replies import as_json
from tests.contract.providers.wires import knowing

PIXELS, PAGES = b"\x89PNG pixels", b"%PDF-1.7 pages"
PAYLOADS = {"i": Payload("image/png", PIXELS), "p": Payload("application/pdf", PAGES)}
IMAGE = Media(blob="i", mime="image/png", name="cat.png")
PAPER = Media(blob="p", mime="application/pdf", name="paper.pdf")
SOUND = Media(blob="s", mime="audio/ogg", name="voice.ogg")
SEARCHING = Profile(hosted_web=True, thinking="level")
with_search = pytest.mark.parametrize("bench", knowing("hosted"), indirect=True)
ADD = ToolSpec("add", "Adds.", {"type": "object"})


def body(bench: Bench, request: LlmRequest, profile: Profile | None = None) -> str:
    """Return what is sent for a request, which the service accepts."""
    bench.ask("text", request, profile=profile)
    assert bench.server.violations == []
    return json.dumps(bench.server.requests[-1].body)


def asked(*blocks: Media | Text) -> LlmRequest:
    return LlmRequest("", (Message(Role.USER, blocks),), payloads=PAYLOADS)


@pytest.mark.parametrize(("file", "data"), [(IMAGE, PIXELS), (PAPER, PAGES)])
def test_a_file_with_its_payload_is_sent(bench: Bench, file: Media, data: bytes) -> None:
    sent = body(bench, asked(Text(text="what is it?"), file))
    assert base64.b64encode(data).decode() in sent
    assert file.mime in sent
    assert "attached file" not in sent


def test_a_file_alone_is_a_message(bench: Bench) -> None:
    assert base64.b64encode(PIXELS).decode() in body(bench, asked(IMAGE))


def test_texts_and_files_keep_their_order(bench: Bench) -> None:
    sent = body(bench, asked(Text(text="first"), IMAGE, Text(text="second")))
    image = sent.index(base64.b64encode(PIXELS).decode())
    assert sent.index("first") < image < sent.index("second")


def test_a_file_without_a_payload_is_told_as_a_note(bench: Bench) -> None:
    assert "attached file: voice.ogg, audio/ogg" in body(bench, asked(SOUND))


def test_a_payload_that_no_format_takes_is_told_as_a_note(bench: Bench) -> None:
    request = LlmRequest(
        "", (Message(Role.USER, (SOUND,)),), payloads={"s": Payload("audio/ogg", b"sound")}
    )
    assert "attached file: voice.ogg" in body(bench, request)


def test_an_image_of_a_result_stands_after_the_results(bench: Bench) -> None:
    messages = (
        Message(Role.USER, (Text(text="look"),)),
        Message(Role.ASSISTANT, (ToolCall(id="c1", name="add", input={}),)),
        Message(Role.USER, (ToolResult(call_id="c1", text="the picture"), IMAGE)),
    )
    sent = body(bench, LlmRequest("", messages, payloads=PAYLOADS), SEARCHING)
    assert sent.index("the picture") < sent.index(base64.b64encode(PIXELS).decode())


# The service's own search.


def searching(*messages: Message) -> LlmRequest:
    return LlmRequest("", messages or asked(Text(text="x")).messages, tools=(ADD,), web=True)


def test_search_is_asked_for_where_both_want_it(bench: Bench) -> None:
    sent = body(bench, searching(), SEARCHING)
    has_one = bench.endpoint.type != "openai"
    assert ("search" in sent.lower()) is has_one


@pytest.mark.parametrize("web", [True, False])
def test_search_is_not_asked_for_otherwise(bench: Bench, web: bool) -> None:
    request = LlmRequest("", asked(Text(text="x")).messages, web=web)
    assert "search" not in body(bench, request, Profile(hosted_web=not web)).lower()


@with_search
@pytest.mark.parametrize(
    ("status", "kind"), [(400, "invalid_request_error"), (403, "permission_error")]
)
def test_a_search_that_is_refused_is_not_asked_for_again(
    bench: Bench, status: int, kind: str
) -> None:
    """Gateways do not know it; organizations turn it off."""
    told = {"error": {"message": "web_search, googleSearch: not enabled", "type": kind}}
    text = bench.reply("text")
    bench.server.script = lambda one: text if one.id else as_json(told, status)
    with bench.provider() as provider:
        for _ in range(2):
            *_, last = provider.stream("m", searching(), SEARCHING, Interrupt())
            assert isinstance(last, Finished)
    bodies = [json.dumps(one.body).lower() for one in bench.server.requests]
    assert ["search" in one for one in bodies] == [True, False, False]


@with_search
def test_what_was_found_goes_back_as_it_came(bench: Bench) -> None:
    blocks = bench.ask("hosted")[1].blocks
    assert any(isinstance(block, Text) and "rains" in block.text for block in blocks)
    kept = [b.data for b in blocks if isinstance(b, Opaque) and "beside_text" not in b.data]
    assert kept
    again = (
        *asked(Text(text="x")).messages,
        Message(Role.ASSISTANT, blocks),
        *asked(Text(text="y")).messages,
    )
    body(bench, searching(*again), SEARCHING)
    sent = json.dumps(bench.server.requests[-1].body, sort_keys=True)
    assert all(json.dumps(data, sort_keys=True) in sent for data in kept)


@with_search
def test_what_is_said_after_a_search_begins_a_paragraph(bench: Bench) -> None:
    shown, finished = bench.ask("talk around a search")
    said = "".join(block.text for block in finished.blocks if isinstance(block, Text))
    assert said == "Looking.\n\nIt rains."
    assert "".join(event.text for event in shown if isinstance(event, TextDelta)) == said


@with_search
def test_a_search_is_answered_by_its_text(bench: Bench) -> None:
    _, finished = bench.ask("hosted")
    said = "".join(block.text for block in finished.blocks if isinstance(block, Text))
    assert said == "It rains."
    assert finished.notices == ()
