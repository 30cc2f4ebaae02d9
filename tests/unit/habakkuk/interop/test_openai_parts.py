"""Files inside a client's messages."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from habakkuk.interop.openai_chat import Ask, CompletionRequest, has_files, read
from habakkuk.interop.refused import RefusedParameter
from tests.fakes.pictures import document, plain, written

PNG = "data:image/png;base64," + base64.b64encode(written(plain(3, 3), "PNG")).decode()
PDF = "data:application/pdf;base64," + base64.b64encode(document(1)).decode()


def asked(*messages: tuple[str, Any]) -> Ask:
    listed = [{"role": role, "content": content} for role, content in messages]
    return read(CompletionRequest.model_validate({"messages": listed}))


def image(url: str = PNG) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, "detail": "high"}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_the_files_of_the_last_message_go_with_its_text() -> None:
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}}
    ask = asked(("user", [text("look"), image(), file, text("and tell")]))
    assert ask.text == "look\nand tell"
    assert [(one.mime, one.name) for one in ask.files] == [
        ("image/png", None),
        ("application/pdf", "a.pdf"),
    ]
    assert [one.blob for one in ask.given] == [one.blob for one in ask.files]


def test_a_message_may_be_a_file_alone() -> None:
    ask = asked(("user", [image()]))
    assert (ask.text, len(ask.files)) == ("", 1)


def test_files_of_earlier_messages_stand_in_the_seed_and_are_stored_too() -> None:
    ask = asked(("user", [image(), text("look")]), ("assistant", "I see"), ("user", "and?"))
    assert [block["type"] for block in ask.seed[0]["blocks"]] == ["media", "text"]
    assert [one.blob for one in ask.earlier] == [ask.seed[0]["blocks"][0]["blob"]]
    assert ask.files == ()


def test_an_image_may_be_written_as_a_bare_address_too() -> None:
    assert len(asked(("user", [{"type": "image_url", "image_url": PNG}])).files) == 1


@pytest.mark.parametrize(
    ("part", "says"),
    [
        (image("https://example.org/a.png"), "send the image inside the request"),
        (image("HTTP://example.org/a.png"), "send the image inside the request"),
        (image("data:image/png;base64,!!"), "no base64"),
        ({"type": "image_url"}, "is not accepted"),
        ({"type": "file", "file": {"file_id": "f1"}}, "no uploads to name by file_id"),
        ({"type": "input_audio", "input_audio": {"data": "x"}}, "'input_audio' is not accepted"),
    ],
)
def test_what_cannot_be_read_names_its_place(part: dict[str, Any], says: str) -> None:
    with pytest.raises(RefusedParameter, match=says) as caught:
        asked(("user", [text("look"), part]))
    assert caught.value.param == "messages.0.content.1"


def test_files_of_others_than_the_user_are_refused() -> None:
    with pytest.raises(RefusedParameter, match="user messages only"):
        asked(("assistant", [image()]), ("user", "and?"))


def test_text_is_bounded_apart_from_files() -> None:
    with pytest.raises(RefusedParameter, match="characters of text"):
        asked(("user", "x" * 1_500_000), ("user", "x" * 600_000))


def test_a_fingerprint_knows_files_by_their_bytes() -> None:
    other = {"type": "file", "file": {"file_data": PDF}}
    one = asked(("user", [image()])).fingerprint("m")
    assert asked(("user", [image()])).fingerprint("m") == one
    assert asked(("user", [other])).fingerprint("m") != one
    assert asked(("user", [image()]), ("user", [image()])).fingerprint("m") != one


def test_only_a_request_with_more_than_text_has_files() -> None:
    texts: list[dict[str, Any]] = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": [text("b")]},
        {"role": "user"},
    ]
    assert not has_files(CompletionRequest.model_validate({"messages": texts}))
    more = [*texts, {"role": "user", "content": [image()]}]
    assert has_files(CompletionRequest.model_validate({"messages": more}))
