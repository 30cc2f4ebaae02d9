"""apply_patch with line ends as they are, and with what git writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.habakkuk.tools.core.patching import begun, put, unified


class TestLineEnds:
    def test_a_file_with_returns_keeps_them(self, ws: Path) -> None:
        (ws / "f.py").write_bytes(b"a\r\nb\r\nc\r\n")
        put(ws, unified("@@ -1,3 +1,4 @@", " a", "-b", "+B", "+B2", " c"))
        assert (ws / "f.py").read_bytes() == b"a\r\nB\r\nB2\r\nc\r\n"

    def test_a_patch_with_returns_in_its_lines_is_taken_as_it_is(self, ws: Path) -> None:
        (ws / "f.py").write_bytes(b"a\r\nb\r\n")
        put(ws, unified("@@ -1,2 +1,2 @@", " a\r", "-b\r", "+B"))
        assert (ws / "f.py").read_bytes() == b"a\r\nB\n"

    def test_a_patch_that_was_sent_with_returns_adds_none(self, ws: Path) -> None:
        (ws / "f.py").write_bytes(b"a\nb\n")
        put(ws, unified("@@ -1,2 +1,2 @@", " a", "-b", "+B").replace("\n", "\r\n"))
        assert (ws / "f.py").read_bytes() == b"a\nB\n"

    @pytest.mark.parametrize(
        ("before", "hunk", "after"),
        [
            pytest.param(b"a\nb", ["-b", "+B"], b"a\nB", id="unsaid, it stays"),
            pytest.param(b"a\nb", [" b", "+c"], b"a\nb\nc", id="unsaid, below it"),
            pytest.param(b"a\nb", ["-b", "\\ No newline at end of file", "+B"], b"a\nB\n", id="+"),
            pytest.param(b"a\nb\n", ["-b", "+B", "\\ No newline at end of file"], b"a\nB", id="-"),
            pytest.param(
                b"a\nb",
                ["-b", "\\ No newline at end of file", "+B", "\\ No newline at end of file"],
                b"a\nB",
                id="said, it stays",
            ),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("form", ["unified", "begin"])
    def test_a_missing_last_line_end_is_honoured(
        self, ws: Path, before: bytes, hunk: list[str], after: bytes, form: str
    ) -> None:
        (ws / "f.py").write_bytes(before)
        if form == "unified":
            patch = unified("@@ -2 +2 @@", *hunk)
        else:
            patch = begun("*** Update File: f.py", "@@", *hunk)
        assert not put(ws, patch).is_error
        assert (ws / "f.py").read_bytes() == after

    def test_bytes_that_are_no_utf8_and_a_mark_at_the_beginning_stay(self, ws: Path) -> None:
        (ws / "f.py").write_bytes(b"\xef\xbb\xbfa\ncaf\xe9\nb\n")
        assert not put(ws, begun("*** Update File: f.py", "@@", "-a", "+A")).is_error
        assert (ws / "f.py").read_bytes() == b"\xef\xbb\xbfA\ncaf\xe9\nb\n"


class TestGit:
    def test_modes_follow_the_patch_and_stay_without_a_word(self, ws: Path) -> None:
        (ws / "f.py").write_text("x\n")
        (ws / "f.py").chmod(0o640)
        put(ws, "diff --git a/f.py b/f.py\nold mode 100644\nnew mode 100755\n")
        assert (ws / "f.py").stat().st_mode & 0o777 == 0o750
        put(ws, unified("@@ -1 +1 @@", "-x", "+y"))
        assert (ws / "f.py").stat().st_mode & 0o777 == 0o750
        put(
            ws,
            "diff --git a/s b/s\nnew file mode 100755\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n",
        )
        assert (ws / "s").stat().st_mode & 0o777 == 0o755

    def test_two_files_change_places(self, ws: Path) -> None:
        (ws / "a").write_text("1\n")
        (ws / "b").write_text("2\n")
        swap = "".join(
            f"diff --git a/{one} b/{two}\nrename from {one}\nrename to {two}\n"
            for one, two in (("a", "b"), ("b", "a"))
        )
        assert not put(ws, swap).is_error
        assert ((ws / "a").read_text(), (ws / "b").read_text()) == ("2\n", "1\n")

    def test_a_copy_leaves_its_source(self, ws: Path) -> None:
        (ws / "a").write_text("1\n")
        put(ws, "diff --git a/a b/c d\nsimilarity index 100%\ncopy from a\ncopy to c d\n")
        assert ((ws / "a").read_text(), (ws / "c d").read_text()) == ("1\n", "1\n")

    def test_empty_files_come_and_go(self, ws: Path) -> None:
        put(ws, "diff --git a/e f b/e f\nnew file mode 100644\nindex 0000000..e69de29\n")
        assert (ws / "e f").read_bytes() == b""
        put(ws, "diff --git a/e f b/e f\ndeleted file mode 100644\nindex e69de29..0000000\n")
        assert not (ws / "e f").exists()

    def test_a_folder_called_a_is_no_prefix_when_both_names_have_it(self, ws: Path) -> None:
        (ws / "a").mkdir()
        (ws / "a/x").write_text("1\n")
        put(ws, "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n")
        assert (ws / "a/x").read_text() == "2\n"
