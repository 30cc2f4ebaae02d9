"""read_file, write_file, edit_file and list_dir, one behaviour each."""

from __future__ import annotations

import difflib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from habakkuk.tools.contract import ToolOutput
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import call, context

TOOLS = ToolRegistry().of(["core"])


def do(name: str, ws: Path, **arguments: Any) -> ToolOutput:
    return call(TOOLS[name], context(ws), **arguments)


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


class TestReadFile:
    def test_a_short_file_comes_as_it_is(self, ws: Path) -> None:
        (ws / "a.txt").write_text("one\n  two\t\n")
        assert do("read_file", ws, path="a.txt") == ToolOutput("one\n  two\t")

    def test_an_empty_file_says_so(self, ws: Path) -> None:
        (ws / "a.txt").touch()
        assert do("read_file", ws, path="a.txt").text == "[the file is empty]"

    def test_some_lines_of_it(self, ws: Path) -> None:
        (ws / "a.txt").write_text(lines(10))
        expected = "line 4\nline 5\n[lines 4 to 5 of 10; offset 6 reads on]"
        assert do("read_file", ws, path="a.txt", offset=4, limit=2).text == expected

    def test_its_last_lines(self, ws: Path) -> None:
        (ws / "a.txt").write_text(lines(10))
        expected = "line 9\nline 10\n[lines 9 to 10 of 10]"
        assert do("read_file", ws, path="a.txt", offset=9).text == expected

    def test_an_offset_past_the_end_says_how_long_it_is(self, ws: Path) -> None:
        (ws / "a.txt").write_text(lines(10))
        output = do("read_file", ws, path="a.txt", offset=11)
        assert output == ToolOutput("a.txt: has 10 lines; offset 11 is past them", is_error=True)

    def test_a_long_file_is_read_to_its_end_by_what_the_notes_say(self, ws: Path) -> None:
        whole = lines(20_000)
        (ws / "a.txt").write_text(whole)
        found, offset = "", 1
        while offset <= 20_000:
            text = do("read_file", ws, path="a.txt", offset=offset, limit=100_000).text
            assert len(text) < 30_000
            part, _, note = text.rpartition("\n[lines ")
            found += part + "\n"
            offset = int(note.split(" to ")[1].split(" of ")[0]) + 1
        assert found == whole

    def test_of_one_endless_line_the_beginning(self, ws: Path) -> None:
        (ws / "a.txt").write_text("x" * 100_000)
        text = do("read_file", ws, path="a.txt").text
        assert text.startswith("x" * 25_000 + "\n[… this line has 75000 more characters …]")

    @pytest.mark.parametrize(
        ("data", "kind"),
        [
            (b"\x89PNG\r\n\x1a\n123", "a PNG image"),
            (b"%PDF-1.7", "a PDF document"),
            (b"PK\x03\x04", "a ZIP archive"),
            (b"\x7fELF\x02", "a program"),
            (b"text\0text", "binary data"),
        ],
    )
    def test_what_is_no_text_is_refused_by_its_kind(self, data: bytes, kind: str, ws: Path) -> None:
        (ws / "a").write_bytes(data)
        output = do("read_file", ws, path="a")
        assert output.is_error
        assert kind in output.text

    def test_bytes_that_are_no_utf8_are_shown_and_said(self, ws: Path) -> None:
        (ws / "a.txt").write_bytes(b"caf\xe9\n")
        text = do("read_file", ws, path="a.txt").text
        assert text == "caf\ufffd\n[some bytes are no UTF-8 and are shown as \ufffd]"

    def test_utf16_is_read(self, ws: Path) -> None:
        (ws / "a.txt").write_bytes("žluť\n".encode("utf-16"))
        assert do("read_file", ws, path="a.txt").text == "žluť\n[the file is in UTF-16]"

    def test_what_is_not_there_says_so(self, ws: Path) -> None:
        output = do("read_file", ws, path="a/b")
        assert output == ToolOutput("a/b: there is no such file or folder", is_error=True)

    def test_a_folder_is_no_file(self, ws: Path) -> None:
        (ws / "a").mkdir()
        assert do("read_file", ws, path="a") == ToolOutput("a: this is a folder", is_error=True)

    def test_a_huge_file_is_not_loaded(self, ws: Path) -> None:
        with (ws / "a").open("wb") as file:
            file.truncate(10_000_000_000)
        output = do("read_file", ws, path="a")
        assert output.is_error
        assert "10000000000 bytes" in output.text


class TestWriteFile:
    def test_a_new_file_in_new_folders(self, ws: Path) -> None:
        output = do("write_file", ws, path="a/b/c.txt", content="čau\n")
        assert output == ToolOutput("Wrote a/b/c.txt (5 bytes).")
        assert (ws / "a/b/c.txt").read_bytes() == "čau\n".encode()

    def test_an_existing_one_is_replaced_and_keeps_its_mode(self, ws: Path) -> None:
        (ws / "run").write_text("old and longer")
        (ws / "run").chmod(0o750)
        assert do("write_file", ws, path="run", content="new").text == "Replaced run (3 bytes)."
        assert (ws / "run").read_text() == "new"
        assert (ws / "run").stat().st_mode & 0o7777 == 0o750

    def test_a_reader_of_the_old_one_keeps_it(self, ws: Path) -> None:
        (ws / "a").write_text("old")
        with (ws / "a").open() as reader:
            do("write_file", ws, path="a", content="new")
            assert reader.read() == "old"

    def test_nothing_else_is_left(self, ws: Path) -> None:
        do("write_file", ws, path="a", content="x")
        do("write_file", ws, path="a", content="y")
        assert [path.name for path in ws.iterdir()] == ["a"]

    def test_line_ends_are_kept(self, ws: Path) -> None:
        do("write_file", ws, path="a", content="a\r\nb\n")
        assert (ws / "a").read_bytes() == b"a\r\nb\n"

    @pytest.mark.parametrize("content", ["a\0b", "a\ud83db"])
    def test_what_no_text_file_holds_is_refused(self, content: str, ws: Path) -> None:
        assert do("write_file", ws, path="a", content=content).is_error
        assert not (ws / "a").exists()

    def test_a_file_with_a_second_name_is_not_replaced(self, ws: Path) -> None:
        (ws / "a").write_text("old")
        (ws / "b").hardlink_to(ws / "a")
        assert "hard link" in do("write_file", ws, path="a", content="new").text

    def test_it_belongs_to_whom_the_workspace_belongs(self, ws: Path) -> None:
        do("write_file", ws, path="a/b", content="x")
        for path in (ws / "a", ws / "a" / "b"):
            assert path.stat().st_uid == ws.stat().st_uid

    def test_a_full_disk_leaves_the_old_file(
        self, ws: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (ws / "a").write_text("old")

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        output = do("write_file", ws, path="a", content="new")
        assert output == ToolOutput("a: no space left on device", is_error=True)
        assert [(path.name, path.read_text()) for path in ws.iterdir()] == [("a", "old")]


class TestEditFile:
    def test_one_occurrence(self, ws: Path) -> None:
        (ws / "a").write_text("one\ntwo\nthree\n")
        output = do("edit_file", ws, path="a", old="two\n", new="2\n2b\n")
        assert output == ToolOutput("Replaced 1 occurrence in a, at line 2.")
        assert (ws / "a").read_text() == "one\n2\n2b\nthree\n"

    def test_several_are_refused_with_their_lines(self, ws: Path) -> None:
        (ws / "a").write_text("x\ny\nx\n")
        output = do("edit_file", ws, path="a", old="x", new="z")
        assert output.is_error
        assert "occurs 2 times (lines 1, 3)" in output.text
        assert (ws / "a").read_text() == "x\ny\nx\n"

    def test_several_when_all_are_wanted(self, ws: Path) -> None:
        (ws / "a").write_text("x\ny\nx\n")
        output = do("edit_file", ws, path="a", old="x", new="z", replace_all=True)
        assert output.text == "Replaced 2 occurrences in a, the first at line 1."
        assert (ws / "a").read_text() == "z\ny\nz\n"

    def test_none_names_the_nearest_line(self, ws: Path) -> None:
        (ws / "a").write_text("def one():\n    return value\n")
        output = do("edit_file", ws, path="a", old="return  value", new="x")
        assert output.is_error
        assert output.text.endswith("The nearest is line 2:\n    return value")

    def test_few_of_many_alike_lines_are_compared_in_earnest(
        self, ws: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A line takes up to 5 ms, during which nothing interrupts: 20,000 took 80 s."""
        (ws / "a").write_text("abcdabcd\n" * 2000 + "abcdefgh\n")
        compared: list[float] = []
        ratio = difflib.SequenceMatcher.ratio

        def counted(matcher: difflib.SequenceMatcher[str]) -> float:
            compared.append(ratio(matcher))
            return compared[-1]

        monkeypatch.setattr(difflib.SequenceMatcher, "ratio", counted)
        output = do("edit_file", ws, path="a", old="abcdefg!", new="x")
        assert output.text.endswith("The nearest is line 2001:\nabcdefgh")
        assert len(compared) < 100

    def test_none_and_nothing_near_says_to_read_again(self, ws: Path) -> None:
        (ws / "a").write_text("abc\n")
        assert "Read the file again" in do("edit_file", ws, path="a", old="zzzzz", new="x").text

    def test_windows_line_ends_stay(self, ws: Path) -> None:
        (ws / "a").write_bytes(b"one\r\ntwo\r\nthree\r\n")
        assert not do("edit_file", ws, path="a", old="one\ntwo", new="1\n2").is_error
        assert (ws / "a").read_bytes() == b"1\r\n2\r\nthree\r\n"

    def test_an_empty_text_to_look_for_is_refused(self, ws: Path) -> None:
        (ws / "a").write_text("abc")
        assert do("edit_file", ws, path="a", old="", new="x").is_error

    def test_equal_texts_are_refused(self, ws: Path) -> None:
        (ws / "a").write_text("abc")
        assert do("edit_file", ws, path="a", old="b", new="b").is_error

    def test_bytes_that_are_no_utf8_are_not_damaged(self, ws: Path) -> None:
        (ws / "a").write_bytes(b"ok\ncaf\xe9\n")
        output = do("edit_file", ws, path="a", old="ok", new="no")
        assert output.is_error
        assert "line 2 is no UTF-8" in output.text
        assert (ws / "a").read_bytes() == b"ok\ncaf\xe9\n"

    def test_edits_of_one_step_do_not_lose_each_other(self, ws: Path) -> None:
        """The calls of one step run in parallel."""
        (ws / "a").write_text("".join(f"<{number}>\n" for number in range(12)))
        threads = [
            threading.Thread(target=do, args=("edit_file", ws), kwargs=_change(number), daemon=True)
            for number in range(12)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (ws / "a").read_text() == "".join(f"[{number}]\n" for number in range(12))


def _change(number: int) -> dict[str, str]:
    return {"path": "a", "old": f"<{number}>", "new": f"[{number}]"}


class TestListDir:
    @pytest.fixture
    def tree(self, ws: Path) -> Path:
        (ws / "b" / "c" / "d").mkdir(parents=True)
        (ws / "a.txt").write_text("12345")
        (ws / "b" / "x").touch()
        (ws / "link").symlink_to("/etc")
        os.mkfifo(ws / "pipe")
        return ws

    def test_the_workspace(self, tree: Path) -> None:
        assert do("list_dir", tree).text == "a.txt  5\nb/\nlink@\npipe|"

    def test_deeper(self, tree: Path) -> None:
        expected = "a.txt  5\nb/\nb/c/\nb/x  0\nlink@\npipe|"
        assert do("list_dir", tree, depth=2).text == expected

    def test_a_folder_of_it(self, tree: Path) -> None:
        assert do("list_dir", tree, path="b", depth=3).text == "c/\nc/d/\nx  0"

    def test_an_empty_one_says_so(self, tree: Path) -> None:
        assert do("list_dir", tree, path="b/c/d").text == "[the folder is empty]"

    @pytest.mark.parametrize("path", ["", ".", "./", "/"])
    def test_the_ways_to_say_here(self, path: str, tree: Path) -> None:
        output = do("list_dir", tree, path=path, depth=2)
        assert output.is_error is (path == "/")
        assert ("b/c/" in output.text) is (path != "/")

    def test_links_are_not_followed(self, tree: Path) -> None:
        assert do("list_dir", tree, path="link").is_error

    def test_a_file_is_no_folder(self, tree: Path) -> None:
        assert do("list_dir", tree, path="a.txt").is_error

    def test_very_many_entries_are_cut_and_said(self, ws: Path) -> None:
        for number in range(600):
            (ws / f"{number:03d}").touch()
        found = do("list_dir", ws).text.splitlines()
        assert len(found) == 501
        assert found[-1] == "[more than 500 entries; list a folder of it, or less deep]"

    def test_a_name_cannot_pass_for_a_second_entry(self, ws: Path) -> None:
        """Escaped as in JSON, so that it can be given back as it stands."""
        for name in ("a\nkey.pem  12", "b\u202egpj.exe", "c d é 日"):
            (ws / name).touch()
        assert do("list_dir", ws).text == ("a\\nkey.pem  12  0\nb\\u202egpj.exe  0\nc d é 日  0")
