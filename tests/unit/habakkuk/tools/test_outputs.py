from __future__ import annotations

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.tools.outputs import Kept, KeptOutputs
from tests.fakes.toolbox import MemoryBlobs


@pytest.fixture
def blobs() -> MemoryBlobs:
    return MemoryBlobs()


@pytest.fixture
def outputs(blobs: MemoryBlobs) -> KeptOutputs:
    return KeptOutputs(blobs.put, blobs.get)


@pytest.mark.parametrize("text", ["", "plain", "two\nlines\n", "漢字 🎉 עברית", "a\r\nb"])
def test_what_was_kept_is_read(text: str, outputs: KeptOutputs) -> None:
    assert outputs.read("ses_1", outputs.keep("ses_1", text, outside=False)) == Kept(
        text, outside=False
    )


def test_text_that_cannot_be_stored_is_cleaned(outputs: KeptOutputs) -> None:
    assert (
        outputs.read("s", outputs.keep("s", "a\x00b\ud83d", outside=False)).text == "a\ufffdb\ufffd"
    )


def test_another_session_has_no_such_output(outputs: KeptOutputs) -> None:
    handle = outputs.keep("ses_1", "secret", outside=False)
    with pytest.raises(ToolError, match="no kept output"):
        outputs.read("ses_2", handle)


def test_equal_texts_of_two_sessions_have_two_handles(outputs: KeptOutputs) -> None:
    """Else a session could learn whether another one has seen a text."""
    assert outputs.keep("ses_1", "text", outside=False) != outputs.keep(
        "ses_2", "text", outside=False
    )


def test_a_file_of_another_kind_is_no_output(outputs: KeptOutputs, blobs: MemoryBlobs) -> None:
    handle = blobs.put(b"an attachment of somebody", "text/plain")
    with pytest.raises(ToolError, match="no kept output"):
        outputs.read("ses_1", handle)


def test_a_session_whose_name_begins_like_another_is_another(outputs: KeptOutputs) -> None:
    handle = outputs.keep("ses_1\nx", "text", outside=False)
    with pytest.raises(ToolError):
        outputs.read("ses_1", handle)


@pytest.mark.parametrize("handle", ["", "x", "../../etc/passwd", "A" * 64, "0" * 64, "0" * 63])
def test_what_is_no_handle_says_so(handle: str, outputs: KeptOutputs) -> None:
    with pytest.raises(ToolError, match="no kept output"):
        outputs.read("ses_1", handle)


def test_without_blobs_nothing_is_kept() -> None:
    with pytest.raises(ToolError, match="no place"):
        KeptOutputs().keep("ses_1", "text", outside=False)


def test_where_it_came_from_is_kept(outputs: KeptOutputs) -> None:
    assert outputs.read("s", outputs.keep("s", "text", outside=True)).outside
