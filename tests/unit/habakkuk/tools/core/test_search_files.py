"""search_files, with ripgrep and without: what both find, and what neither may reach."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.contract import ToolContext, ToolOutput
from habakkuk.tools.core.search_files import search_files
from habakkuk.tools.search import ripgrep
from tests.fakes.toolbox import call, context, services


@pytest.fixture
def where(tmp_path: Path) -> ToolContext:
    home = tmp_path / "house"
    workspace = home / "w"
    for folder in (home, workspace):
        folder.mkdir()
        folder.chmod(0o711)
    tmp_path.chmod(0o711)
    return context(workspace, services(home))


@pytest.fixture(params=["ripgrep", "walker"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "walker":
        monkeypatch.setattr(ripgrep, "search", lambda *_: None)
    else:
        # Nothing is compared when the machine's ripgrep is not reached.
        monkeypatch.setattr("habakkuk.tools.core.search_files.walk", None)
    return str(request.param)


def put(where: ToolContext, **files: Any) -> None:
    for name, content in files.items():
        put_one(where, name, content)


def put_one(where: ToolContext, name: str, content: str | bytes) -> None:
    path = where.workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def do(where: ToolContext, pattern: str, **more: Any) -> list[str]:
    output = call(search_files, where, pattern=pattern, **more)
    assert not output.is_error, output.text
    return output.text.split("\n")


FILES: dict[str, str | bytes] = {
    "a.py": "import os\n    def foo(x):\n",
    "b/c.py": "foo\r\nbar\r\n",
    "b/d.log": "foo\n",
    "b/keep.log": "foo\n",
    "b/deep/e.ts": "x\nfoo foo\n",
    "b/deep/f.tsx": "foo",
    "build/g.py": "foo\n",
    ".hidden/h.py": "foo\n",
    "b/.env": "foo\n",
    "binary": b"foo\0foo\n",
    ".gitignore": "*.log\n/build/\n",
    "b/.gitignore": "!keep.log\ndeep/*.tsx\n",
}
FOO = ["a.py:2:    def foo(x):", "b/c.py:1:foo", "b/deep/e.ts:2:foo foo", "b/keep.log:1:foo"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"pattern": "foo"}, FOO),
        ({"pattern": "foo", "path": "b"}, FOO[1:]),
        ({"pattern": "foo", "path": "b/deep"}, FOO[2:3]),
        ({"pattern": "foo", "path": "b/d.log"}, ["b/d.log:1:foo"]),
        ({"pattern": "foo", "path": "build"}, ["build/g.py:1:foo"]),
        ({"pattern": "^foo$"}, [FOO[1], FOO[3]]),
        ({"pattern": "FOO"}, ["[no match]"]),
        ({"pattern": "FOO", "ignore_case": True}, FOO),
        ({"pattern": "foo", "glob": "*.py"}, FOO[:2]),
        ({"pattern": "foo", "glob": "b/**/*.{ts,log}"}, FOO[2:]),
        ({"pattern": "foo", "glob": "b/*"}, [FOO[1], FOO[3]]),
        ({"pattern": "foo", "glob": "**/*"}, FOO),
        ({"pattern": "foo", "files_only": True}, [line.partition(":")[0] for line in FOO]),
        ({"pattern": r"\(x\)|bar"}, ["a.py:2:    def foo(x):", "b/c.py:2:bar"]),
        ({"pattern": "-foo"}, ["[no match]"]),
    ],
)
def test_both_ways_find_the_same(
    where: ToolContext, way: str, arguments: dict[str, Any], found: list[str]
) -> None:
    put(where, **FILES)
    assert do(where, **arguments) == found, way


def test_odd_names_and_bytes_are_shown(where: ToolContext, way: str) -> None:
    put_one(where, "sp ace/-é'q\"$(x).txt", b"caf\xe9 foo\n")
    put_one(where, "new\nline.txt", "foo\n")
    assert do(where, "foo") == ["new\\nline.txt:1:foo", "sp ace/-é'q\"$(x).txt:1:caf� foo"]


def test_results_end_where_they_are_asked_to(where: ToolContext, way: str) -> None:
    put(where, **{"a.txt": "foo\n" * 5, "b.txt": "foo\n"})
    lines = do(where, "foo", max_results=3)
    assert lines[:3] == ["a.txt:1:foo", "a.txt:2:foo", "a.txt:3:foo"]
    assert lines[3] == "[more than 3 matches; narrow the pattern, the path or the glob]"
    assert "[more" not in "".join(do(where, "foo", max_results=6))


def test_long_lines_are_cut_and_large_files_passed_over(where: ToolContext, way: str) -> None:
    put(where, **{"a.txt": "foo" + "é" * 1000, "b.txt": "foo\n" + "x" * 5_000_000})
    assert do(where, "foo") == ["a.txt:1:foo" + "é" * 297 + "…"]


def test_links_lead_nowhere(where: ToolContext, way: str, tmp_path: Path) -> None:
    """Neither a file nor a folder behind a link is searched, inside or outside."""
    outside = tmp_path / "outside"
    outside.mkdir()
    outside.chmod(0o755)
    (outside / "secret.txt").write_text("foo canary\n")
    put(where, **{"real.txt": "foo\n"})
    (where.workspace / "folder").symlink_to(outside)
    (where.workspace / "file").symlink_to(outside / "secret.txt")
    (where.workspace / ".gitignore").symlink_to(outside / "secret.txt")
    assert do(where, "foo") == ["real.txt:1:foo"]
    for path in ("folder", "file", "folder/secret.txt", "../outside", str(outside), "/etc"):
        output = call(search_files, where, pattern="foo", path=path)
        assert output.is_error, path
        assert "canary" not in output.text


def test_a_pattern_that_is_none_is_said(where: ToolContext, way: str) -> None:
    put(where, **{"a.txt": "foo\n"})
    output = call(search_files, where, pattern="(foo")
    assert output.is_error
    assert "regex parse error" in output.text or "no regular expression" in output.text


EVIL = [
    pytest.param({"a.txt": "a" * 60 + "!"}, {"pattern": "(a+)+$"}, id="the pattern"),
    pytest.param(
        {".gitignore": "*a" * 30 + "b", "a" * 120: "foo"}, {"pattern": "foo"}, id="a rule"
    ),
    pytest.param({"a" * 120: "foo"}, {"pattern": "foo", "glob": "*a" * 30 + "b"}, id="the glob"),
]


@pytest.mark.parametrize(("files", "arguments"), EVIL)
def test_what_would_take_for_ever_ends(
    where: ToolContext, way: str, files: dict[str, str], arguments: dict[str, object]
) -> None:
    put(where, **files)
    output = call(search_files, where, **arguments)
    assert not output.is_error
    assert "[no match]" in output.text or output.text == f"{'a' * 120}:1:foo"


def test_the_walker_says_that_it_gave_up(
    where: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "search", lambda *_: None)
    put(where, **{"a.txt": "aa\n", "b.txt": "a" * 60 + "!"})
    assert do(where, "(a+)+$") == [
        "a.txt:1:aa",
        "[gave up: one file or folder took more than 2 seconds, by the pattern or by one of a"
        " .gitignore]",
    ]


def test_a_stopped_turn_ends_the_search(
    where: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ripgrep, "search", lambda *_: None)
    put(where, **{"b.txt": "a" * 60 + "!"})
    stopped = Interrupt()
    stopped.trip(Reason.CANCELLED)
    begun = time.monotonic()
    given = context(where.workspace, where.services, interrupt=stopped)
    with pytest.raises(Interrupted):
        call(search_files, given, pattern="(a+)+$")
    assert time.monotonic() - begun < 60


def test_without_ripgrep_the_walker_answers(
    where: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The script says so itself: only there the agent's user looks for it."""
    put(where, **{"a.txt": "foo\n"})
    script = ripgrep._script
    monkeypatch.setattr(
        ripgrep,
        "_script",
        lambda *given: "PATH=/nowhere\n" + script(*given).replace("/rg", "/no-rg", 1),
    )
    assert call(search_files, where, pattern="foo") == ToolOutput("a.txt:1:foo")
