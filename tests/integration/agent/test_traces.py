"""What a turn writes after reading from outside is outside content for whoever reads it later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.conversations.store import taints
from habakkuk.gateway.types import Admitted
from tests.fakes.model_server import ModelServer
from tests.fakes.pages import PUBLIC, FakeNetwork, PageServer, page_server, response
from tests.fakes.stack import Points, Stack, until

FETCH = '[[tool fetch_url {"url": "http://site.example/"}]]'


@pytest.fixture
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        server.answers["/"] = response(b"a page")
        yield server


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    pages: PageServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    network = FakeNetwork(pages.port, {"site.example": [[PUBLIC]]})
    monkeypatch.setattr("habakkuk.bootstrap.assembly.OutsideHttp", lambda **_: network.web())
    made = Stack(home, database_url, redis_url, model)
    yield made
    made.close()


def call(name: str, **arguments: object) -> str:
    return f"[[tool {name} {json.dumps(arguments)}]]"


def write(path: str) -> str:
    return call("write_file", path=path, content="words")


def ask(stack: Stack, *steps: str) -> Admitted:
    admitted = stack.say(" [[next]] ".join(steps) + " go")
    stack.ended(admitted)
    return admitted


def tainted(stack: Stack, admitted: Admitted) -> bool:
    run = stack.container.database.run

    (row,) = run(text("SELECT tainted FROM turns WHERE id = :id"), id=admitted.turn_id)
    return bool(row.tainted)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("notes.txt", call("read_file", path="notes.txt")),
        ("sub/../notes.txt", call("read_file", path="./notes.txt")),
        ("sub/notes.txt", call("read_file", path="sub/notes.txt")),
        ("notes.html", call("read_document", path="notes.html")),
        ("sub/notes.txt", call("list_dir", path="sub")),
        ("notes.txt", call("edit_file", path="notes.txt", old="gone", new="x")),
        ("sub/notes.txt", call("search_files", pattern="words")),
    ],
)
def test_a_later_turn_that_reads_it_is_tainted(stack: Stack, path: str, read: str) -> None:
    stack.start()
    ask(stack, call("write_file", path="sub/own.txt", content="own"))
    assert tainted(stack, ask(stack, FETCH, write(path)))
    assert tainted(stack, ask(stack, read))


def test_a_file_that_it_was_moved_to_has_the_mark_too(stack: Stack) -> None:
    """The turn that moves it reads nothing of it, so it is not tainted itself."""
    stack.start()
    ask(stack, FETCH, write("notes.txt"))
    patch = "diff --git a/notes.txt b/own.txt\nsimilarity index 100%\n"
    patch += "rename from notes.txt\nrename to own.txt\n"
    assert not tainted(stack, ask(stack, call("apply_patch", patch=patch)))
    assert tainted(stack, ask(stack, call("read_file", path="own.txt")))


def test_what_an_untainted_turn_wrote_taints_nobody(stack: Stack) -> None:
    stack.start()
    assert not tainted(stack, ask(stack, write("notes.txt")))
    assert not tainted(stack, ask(stack, call("read_file", path="notes.txt")))


def test_other_files_beside_it_taint_nobody(stack: Stack) -> None:
    stack.start()
    ask(stack, call("write_file", path="own.txt", content="own"))
    ask(stack, FETCH, write("notes.txt"))
    assert not tainted(stack, ask(stack, call("read_file", path="own.txt")))
    assert not tainted(stack, ask(stack, call("search_files", pattern="own", glob="own.txt")))


def test_a_kill_after_writing_leaves_the_mark(stack: Stack) -> None:
    stack.start(Points({"tool.run.after": 2}))
    admitted = stack.say(f"{FETCH} [[next]] {write('notes.txt')} go")
    until(lambda: stack.trace("notes.txt"))
    stack.stop()
    stack.take_over(admitted)
    stack.start()
    stack.container.wake.wake("turns", admitted.turn_id or "")
    stack.ended(admitted)
    assert tainted(stack, ask(stack, call("read_file", path="notes.txt")))


def test_a_very_long_path_breaks_no_turn(stack: Stack) -> None:
    stack.start()
    ask(stack, FETCH, write("x/" * 1_500 + "notes.txt"))
    ask(stack, call("read_file", path="x/" * 1_500 + "notes.txt"))


def test_old_marks_are_forgotten(stack: Stack) -> None:
    stack.start()
    ask(stack, FETCH, write("notes.txt"))
    database = stack.container.database
    assert taints.prune(database, 86_400) == 0
    database.run(text("UPDATE tainted_files SET written = written - interval '200 days'"))
    assert taints.prune(database, 180 * 86_400) == 1
