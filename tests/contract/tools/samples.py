"""For each tool of the product, how it is called well, and how it is made to give very much.

A new tool adds its line here: the suite runs over every tool that it finds, and a tool without a
sample fails it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from habakkuk.core.config.searching import SearchConfig
from habakkuk.llm.types import ToolSpec
from habakkuk.search.service import Search
from habakkuk.tools.contract import ToolContext
from tests.fakes.documents import xlsx
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, response
from tests.fakes.pictures import quarters, written
from tests.fakes.processes import MemoryDesk
from tests.fakes.toolbox import MemoryPosts, MemoryTodo, context, services

FOUND = b'{"results": [{"title": "T", "url": "https://a.example/", "content": "words"}]}'
CATALOGUE = (ToolSpec("read_file", "Read a file.", {"type": "object"}),)
LONG = "".join(f"line {number}\n" for number in range(60_000))


@dataclass(frozen=True)
class Sample:
    """Arguments for one good call; `long`: for one whose result is very long, if there is one."""

    good: Mapping[str, Any]
    long: Mapping[str, Any] | None = None
    # Arguments with which it takes longer than anybody waits.
    stalls: Mapping[str, Any] | None = None
    # Whether what it returns comes from elsewhere; as its risk says it, where that is None.
    outside: bool | None = None
    # Arguments that are text, to be filled with what is no ordinary text.
    texts: tuple[str, ...] = field(default=())
    # The paths that the good call touches, where none of its arguments is one.
    touches: tuple[str, ...] = field(default=())


SAMPLES: Mapping[str, Sample] = {
    "read_file": Sample({"path": "file.txt"}, {"path": "long.txt"}, texts=("path",)),
    "write_file": Sample({"path": "new/file.txt", "content": "x"}, texts=("path", "content")),
    "edit_file": Sample(
        {"path": "file.txt", "old": "text", "new": "words"}, texts=("path", "old", "new")
    ),
    "apply_patch": Sample(
        {"patch": "--- a/file.txt\n+++ b/file.txt\n@@ -1 +1 @@\n-some text\n+words\n"},
        texts=("patch",),
        touches=("file.txt",),
    ),
    "search_files": Sample(
        {"pattern": "te.t"},
        {"pattern": "line", "max_results": 2000},
        texts=("pattern", "path", "glob"),
    ),
    "list_dir": Sample({"path": "."}, {"path": "many"}, texts=("path",)),
    "exec": Sample(
        {"command": "echo hello"},
        {"command": "cat long.txt"},
        {"command": "trap '' TERM; touch started; sleep 600"},
        texts=("command", "cwd"),
    ),
    "fetch_url": Sample(
        {"url": "http://site.example/"},
        {"url": "http://site.example/long", "max_chars": 100_000},
        {"url": "http://site.example/stalled"},
        texts=("url",),
        touches=("http://site.example/",),
    ),
    "tool_search": Sample({"query": "read"}, texts=("query",)),
    "tool_describe": Sample({"name": "read_file"}, texts=("name",)),
    "web_search": Sample({"query": "words"}, texts=("query",)),
    "view_image": Sample({"path": "image.png"}, texts=("path",)),
    "read_document": Sample(
        {"path": "book.xlsx"}, {"path": "long.xlsx"}, outside=True, texts=("path", "pages")
    ),
    "read_output": Sample({"handle": "{kept}"}, {"handle": "{kept}"}, texts=("handle",)),
    "todo": Sample({"action": "add", "items": ["write the tests"]}),
    "clarify": Sample({"questions": [{"question": "Which one?", "choices": ["a", "b"]}]}),
    "send_file": Sample({"path": "file.txt", "caption": "look"}, texts=("path", "caption")),
    "poll": Sample({"question": "Which one?", "options": ["a", "b"]}, texts=("question",)),
    "process_list": Sample({}),
    "process_output": Sample({"id": "p_1"}, texts=("id",)),
    "process_wait": Sample({"id": "p_1"}, texts=("id",)),
    "process_kill": Sample({"id": "p_1"}, texts=("id",)),
    "process_write": Sample({"id": "p_1", "stdin": "yes\n"}, texts=("id", "stdin")),
}


@cache
def _binaries() -> Mapping[str, bytes]:
    """Return what takes long to write; the long book was most of what each test did."""
    return {
        "image.png": written(quarters(40), "PNG"),
        "book.xlsx": xlsx({"One": [["a", 1]]}),
        "long.xlsx": xlsx({"One": [[f"cell {n}", n] for n in range(5_000)]}),
    }


def prepared(tmp_path: Path, pages: PageServer) -> ToolContext:
    """Return the context of a call in a workspace and a network with something in them."""
    network = FakeNetwork(pages.port, {"site.example": [[PUBLIC]]})
    pages.answers |= {"/": response(b"a page"), "/long": response(LONG.encode())}
    workspace = tmp_path / "home" / "agents" / "habakkuk" / "workspace"
    pages.answers["/search?q=words&format=json"] = response(FOUND)
    finding = {"backends": [{"backend": "searxng", "url": f"http://127.0.0.1:{pages.port}"}]}
    config = SearchConfig.model_validate(finding | {"keyless": False})
    given = services(
        tmp_path / "home",
        web=network.web(),
        search=Search(config, {}, network.web()),
        catalogue=lambda _: CATALOGUE,
        processes=MemoryDesk(),
        todo=MemoryTodo(),
        posts=MemoryPosts(),
    )
    where = context(workspace, given)
    (workspace / "many").mkdir(parents=True)
    (workspace / "file.txt").write_text("some text\n")
    (workspace / "long.txt").write_text(LONG)
    for name, data in _binaries().items():
        (workspace / name).write_bytes(data)
    (workspace / "bytes.txt").write_bytes(b"a\xff\xfeb\n")
    Path(os.fsdecode(os.fsencode(workspace) + b"/many/odd-\xff-name")).touch()
    (workspace / "many" / "000").touch()
    return where


def crowd(where: ToolContext) -> None:
    """Fill the folder `many`."""
    for number in range(700):
        (where.workspace / "many" / f"{number:03d}").touch()


def filled(arguments: Mapping[str, Any], where: ToolContext) -> dict[str, Any]:
    """Return the arguments with the handle of an output that this session has."""
    kept = where.services.outputs.keep(where.session_id, LONG, outside=False)
    return {key: kept if value == "{kept}" else value for key, value in arguments.items()}
