"""What send_file and poll make of a call, and who must allow it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from habakkuk.core.config.schema import PermissionMode
from habakkuk.tools.contract import ToolArgs
from habakkuk.tools.core.poll import poll
from habakkuk.tools.core.send_file import send_file
from habakkuk.tools.permissions import Taint, Verdict, decide
from habakkuk.tools.posting import Place
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.pictures import png_of
from tests.fakes.toolbox import MemoryPosts, call, context, services

_MODES = list(PermissionMode)
_ELSEWHERE = {
    PermissionMode.READ_ONLY: Verdict.DENY,
    PermissionMode.ASK: Verdict.ASK,
    PermissionMode.WORKSPACE: Verdict.ASK,
    PermissionMode.FULL: Verdict.ALLOW,
}


def _args(path: str) -> ToolArgs:
    return send_file.parse({"path": path})


@pytest.mark.parametrize("mode", _MODES)
def test_a_file_of_the_workspace_needs_nobody_s_leave(mode: PermissionMode, tmp_path: Path) -> None:
    taint = Taint(lambda _: False)
    for path in ("a.txt", str(tmp_path / "a.txt")):
        assert decide(mode, send_file, _args(path), tmp_path, taint).verdict is Verdict.ALLOW


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("path", ["/etc/hostname", "{workspace}/../x"])
def test_one_elsewhere_needs_what_a_command_needs(
    mode: PermissionMode, path: str, tmp_path: Path
) -> None:
    args = _args(path.format(workspace=tmp_path))
    assert decide(mode, send_file, args, tmp_path).verdict is _ELSEWHERE[mode]


def test_after_outside_content_one_elsewhere_is_asked_for(tmp_path: Path) -> None:
    args, taint = _args("/etc/hostname"), Taint(lambda _: False)
    assert decide(PermissionMode.FULL, send_file, args, tmp_path, taint).verdict is Verdict.ASK


def _sent(tmp_path: Path, posts: MemoryPosts | None = None, **arguments: Any) -> Any:
    posts = posts or MemoryPosts()
    where = context(tmp_path, services(tmp_path, posts=posts))
    return call(send_file, where, **arguments), posts


def test_what_is_sent_is_kept_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png_of(3, 3))
    output, posts = _sent(tmp_path, path="a.png", caption="look")
    assert "a.png (1 kB) is on its way" in output.text
    (post,) = posts.said.values()
    (file,) = post.data["files"]
    assert (post.text, file["mime"], file["path"]) == ("look", "image/png", "a.png")
    assert posts.blobs.stored[file["blob"]] == png_of(3, 3)


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("a.pdf", b"%PDF-1.7", "application/pdf"),
        ("a.txt", b"x", "text/plain"),
        ("fake.png", b"no picture", "application/octet-stream"),
        ("a.unheard", b"x", "application/octet-stream"),
    ],
)
def test_its_content_says_what_it_is(tmp_path: Path, name: str, data: bytes, mime: str) -> None:
    (tmp_path / name).write_bytes(data)
    _, posts = _sent(tmp_path, path=name)
    assert [post.data["files"][0]["mime"] for post in posts.said.values()] == [mime]


def test_one_that_the_chat_does_not_take_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(11))
    posts = MemoryPosts(Place(takes_files=True, file_limit=10))
    output, _ = _sent(tmp_path, posts, path="a.bin")
    assert output.is_error
    assert "11 bytes, more than the 10 that this chat takes" in output.text
    assert posts.said == {}


def test_where_no_files_arrive_the_model_knows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    output, _ = _sent(tmp_path, MemoryPosts(Place(takes_files=False, file_limit=10)), path="a.txt")
    assert "takes no files" in output.text


def test_without_a_chat_it_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x")
    where = context(tmp_path, services(tmp_path))
    for tool, arguments in (
        (send_file, {"path": "a.txt"}),
        (poll, {"question": "Which?", "options": ["a", "b"]}),
    ):
        output = call(tool, where, **arguments)
        assert output.is_error
        assert "no chat" in output.text


def test_a_poll_is_a_numbered_list_in_the_conversation(tmp_path: Path) -> None:
    posts = MemoryPosts()
    where = context(tmp_path, services(tmp_path, posts=posts))
    output = call(poll, where, question="Which?", options=["tea", "soup"], multiple=True)
    assert "Votes are not read back" in output.text
    (post,) = posts.said.values()
    assert post.text == "Which?\n1. tea\n2. soup"
    asked = {"question": "Which?", "options": ["tea", "soup"], "multiple": True}
    assert post.data == {"poll": asked}


def test_a_poll_has_different_options(tmp_path: Path) -> None:
    where = context(tmp_path, services(tmp_path, posts=MemoryPosts()))
    assert call(poll, where, question="Which?", options=["tea", "tea "]).is_error


def test_both_are_there_where_channels_are() -> None:
    names = {"send_file", "poll"}
    assert names <= set(ToolRegistry().of(["core"]))
    assert not names & set(ToolRegistry(channels=False).of(["core"]))
