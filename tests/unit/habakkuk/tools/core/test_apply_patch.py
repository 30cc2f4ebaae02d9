"""apply_patch, one behaviour each; what real programs accept is compared in tests/integration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from habakkuk.core.config.schema import PermissionMode
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.contract import ToolOutput
from habakkuk.tools.core.apply_patch import apply_patch
from habakkuk.tools.permissions import Verdict, decide
from tests.fakes.toolbox import call, context
from tests.unit.habakkuk.tools.core.patching import begun, put, unified

FUNCTION = "def f():\n    a = 1\n    b = 2\n    return a + b\n"


def test_several_files_are_added_changed_moved_and_deleted_at_once(ws: Path) -> None:
    (ws / "f.py").write_text(FUNCTION)
    (ws / "old.txt").write_text("x\ny\n")
    (ws / "sub").mkdir()
    (ws / "sub/gone.txt").write_text("z\n")
    done = put(
        ws,
        begun(
            "*** Add File: new/file.txt",
            "+hello",
            "+",
            "*** Update File: f.py",
            "@@ def f():",
            "     a = 1",
            "-    b = 2",
            "+    b = 3",
            "*** Update File: old.txt",
            "*** Move to: moved/to.txt",
            "@@",
            "-x",
            "+X",
            " y",
            "*** Delete File: sub/gone.txt",
        ),
    )
    assert done == ToolOutput(
        "Applied:\nA new/file.txt (+2)\nM f.py (+1 -1)\nR old.txt -> moved/to.txt (+1 -1)\n"
        "D sub/gone.txt"
    )
    assert (ws / "new/file.txt").read_text() == "hello\n\n"
    assert (ws / "f.py").read_text() == FUNCTION.replace("b = 2", "b = 3")
    assert (ws / "moved/to.txt").read_text() == "X\ny\n"
    # The folder that held nothing else went too, as with git.
    assert sorted(path.name for path in ws.iterdir()) == ["f.py", "moved", "new"]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        pytest.param(
            unified("@@ -2,2 +2,2 @@", "     a = 1", "-    b = 9", "+    b = 3"),
            "f.py: the hunk (@@ -2,2 +2,2 @@) does not apply: its first line matches at line 2, but"
            " then line 3 differs: the patch has '    b = 9', the file has '    b = 2'.",
            id="the first line that differs",
        ),
        pytest.param(
            unified(
                "@@ -1,1 +1,1 @@", "-def f():", "+def g():", "@@ -4 +4 @@", "-nothing", "+x"
            ),
            "f.py: hunk 2 of 2 (@@ -4 +4 @@) does not apply: its first line does not occur in the"
            " file: 'nothing'.",
            id="the second hunk",
        ),
        pytest.param(
            begun("*** Update File: f.py", "@@ def g():", "-    a = 1", "+    a = 2"),
            "f.py: the hunk (@@ def g():) does not apply: the line after @@ does not occur in the"
            " file: 'def g():'",
            id="an anchor",
        ),
        pytest.param(
            begun("*** Update File: f.py", "@@", "     return a + b", "     more", "+x"),
            "f.py: the hunk (@@) does not apply: its first line matches at line 4, but then line 5"
            " differs: the patch has '    more', the file ends there.",
            id="the end of the file",
        ),
        pytest.param(
            begun("*** Update File: f.py", "@@", "-    a = 1", "+    A = 1", "*** End of File"),
            "f.py: the hunk (@@) does not apply: its lines stand at line 2, not at the end of the"
            " file",
            id="end of file is kept to",
        ),
        pytest.param(
            unified("@@ -1 +1,2 @@", "-def h():", "+def f():", "+    a = 1"),
            "f.py: the hunk (@@ -1 +1,2 @@) does not apply: its first line does not occur in the"
            " file: 'def h():'. The lines that it would leave are there: is it applied already?",
            id="applied already",
        ),
        pytest.param(
            begun("*** Add File: f.py", "+x"),
            "f.py: the patch adds this file, but it is there already",
            id="an added file that is there",
        ),
        pytest.param(
            begun("*** Delete File: none"), "none: there is no such file", id="no such file"
        ),
        pytest.param(
            "--- a/f.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def f():\n",
            "f.py: the patch deletes this file, but it holds lines that the patch does not remove",
            id="a removal that does not know the file",
        ),
        pytest.param(
            begun("*** Update File: f.py", "*** Move to: kept.txt"),
            "kept.txt: f.py cannot go there, the file is there already",
            id="a move onto a file",
        ),
        pytest.param(
            begun("*** Update File: f.py", "@@", "a = 1"),
            "line 4 of the patch begins with none of ' ', '+', '-' and '@@': 'a = 1'",
            id="a line without a sign",
        ),
        pytest.param(
            "*** Begin Patch\n*** Delete File: f.py\n",
            "the patch does not end with '*** End Patch'; is a part of it missing?",
            id="cut off",
        ),
        pytest.param(
            "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
            "@@ -0,0 +1 @@\n+/etc\n",
            "l: the patch makes or changes a symbolic link; use exec for that",
            id="a link",
        ),
        pytest.param(
            "diff --git a/x b/x\nBinary files a/x and b/x differ\n",
            "the patch changes a file that is no text: Binary files a/x and b/x differ",
            id="binary",
        ),
        pytest.param(begun("*** Add File: ../x", "+x"), "'..' is not allowed", id="outside"),
        pytest.param(begun("*** Add File: link/x", "+x"), "links are not followed", id="link"),
        pytest.param("hello\n", "the patch changes no file", id="no patch"),
        pytest.param("@@ -1 +1 @@\n-a\n+b\n", "no '--- file' and '+++ file'", id="no name"),
    ],
)  # fmt: skip
def test_what_does_not_apply_says_why_and_writes_nothing(ws: Path, patch: str, said: str) -> None:
    (ws / "f.py").write_text(FUNCTION)
    (ws / "kept.txt").write_text("kept\n")
    (ws / "link").symlink_to("/tmp")
    # A part that would apply stands before the one that does not.
    good = "--- /dev/null\n+++ b/made/new.txt\n@@ -0,0 +1 @@\n+new\n"
    add = "*** Begin Patch\n*** Add File: made/new.txt\n+new"
    whole = patch.replace("*** Begin Patch", add) if "*** Begin" in patch else good + patch
    if said == "the patch changes no file" or said.startswith(("no '---", "line 4")):
        whole = patch
    done = put(ws, whole)
    assert done.is_error
    assert said in done.text
    assert sorted(path.name for path in ws.iterdir()) == ["f.py", "kept.txt", "link"]
    assert (ws / "f.py").read_text() == FUNCTION


class TestFinding:
    """Exactly first, then without trailing space, then without any; nearest to the number."""

    def test_exact_goes_before_nearer(self, ws: Path) -> None:
        (ws / "f.py").write_text("x \n" + "-\n" * 5 + "x\n")
        put(ws, unified("@@ -1 +1 @@", "-x", "+y"))
        assert (ws / "f.py").read_text() == "x \n" + "-\n" * 5 + "y\n"

    def test_trailing_space_goes_before_indentation(self, ws: Path) -> None:
        (ws / "f.py").write_text("  x\nx  \n")
        put(ws, unified("@@ -1 +1 @@", "-x", "+y"))
        assert (ws / "f.py").read_text() == "  x\ny\n"

    def test_indentation_is_ignored_last_and_context_keeps_the_files_own(self, ws: Path) -> None:
        (ws / "f.py").write_text(FUNCTION)
        put(ws, unified("@@ -2,2 +2,2 @@", " a = 1", "-b = 2", "+    b = 3"))
        assert (ws / "f.py").read_text() == FUNCTION.replace("b = 2", "b = 3")

    @pytest.mark.parametrize(("number", "line"), [(1, 2), (4, 5), (9, 8)])
    def test_the_nearest_to_the_stated_line_is_taken(
        self, ws: Path, number: int, line: int
    ) -> None:
        (ws / "f.py").write_text("a\nx\nb\nc\nx\nd\ne\nx\nf\n")
        put(ws, unified(f"@@ -{number} +{number} @@", "-x", "+y"))
        assert (ws / "f.py").read_text().split("\n").index("y") + 1 == line

    def test_hunks_without_numbers_go_on_from_one_to_the_next(self, ws: Path) -> None:
        (ws / "f.py").write_text("x\n1\nx\n2\nx\n")
        put(ws, begun("*** Update File: f.py", "@@", "-x", "+y", "@@", "-x", "+z"))
        assert (ws / "f.py").read_text() == "y\n1\nz\n2\nx\n"

    def test_anchors_lead_from_the_outer_to_the_inner(self, ws: Path) -> None:
        (ws / "f.py").write_text("class A:\n  def f():\n    x\nclass B:\n  def f():\n    x\n")
        put(ws, begun("*** Update File: f.py", "@@ class B:", "@@   def f():", "-    x", "+    y"))
        assert (ws / "f.py").read_text().endswith("class B:\n  def f():\n    y\n")
        assert (ws / "f.py").read_text().startswith("class A:\n  def f():\n    x\n")

    @pytest.mark.parametrize("header", ["@@ -1,9 +1,9 @@", "@@ -2 +2 @@", "@@", "@@ ... @@"])
    def test_a_miscounted_header_is_counted_anew(self, ws: Path, header: str) -> None:
        (ws / "f.py").write_text(FUNCTION)
        done = put(ws, unified(header, "     a = 1", "-    b = 2", "+    b = 3"))
        assert not done.is_error, done.text
        assert (ws / "f.py").read_text() == FUNCTION.replace("b = 2", "b = 3")

    def test_a_mails_signature_is_no_line_of_the_last_hunk(self, ws: Path) -> None:
        (ws / "f.py").write_text(FUNCTION)
        patch = unified(
            "@@ -2,2 +2,2 @@", "     a = 1", "-    b = 2", "+    b = 3", "-- ", "2.39.5"
        )
        assert not put(ws, patch).is_error
        assert (ws / "f.py").read_text() == FUNCTION.replace("b = 2", "b = 3")

    def test_a_long_text_of_equal_lines_takes_no_long_time(self, ws: Path) -> None:
        """Compared naively this is 10^10 steps; the suite's own limit ends that."""
        (ws / "f.py").write_text("x\n" * 200_000)
        done = put(ws, begun("*** Update File: f.py", "@@", *[" x"] * 50_000, "-y"))
        assert "first 50000 lines match" in done.text


@pytest.mark.parametrize(
    ("patch", "verdict"),
    [
        (begun("*** Add File: x", "+y"), Verdict.ALLOW),
        (begun("*** Add File: ../x", "+y"), Verdict.ASK),
        (begun("*** Update File: x", "*** Move to: /etc/passwd"), Verdict.ASK),
        (unified("@@ -1 +1 @@", "-a", "+b", name="../x"), Verdict.ASK),
        ("diff --git a/x b/x\nrename from x\nrename to ../y\n", Verdict.ASK),
    ],
)
def test_workspace_mode_allows_it_when_every_path_is_inside(
    ws: Path, patch: str, verdict: Verdict
) -> None:
    args = apply_patch.parse({"patch": patch})
    assert decide(PermissionMode.WORKSPACE, apply_patch, args, ws).verdict is verdict


def test_a_file_with_a_second_name_is_not_replaced(ws: Path) -> None:
    (ws / "a").write_text("1\n")
    os.link(ws / "a", ws / "b")
    done = put(ws, "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+2\n")
    assert "hard link" in done.text
    assert (ws / "b").read_text() == "1\n"


@pytest.mark.parametrize("names", [("v", "v/w"), ("v/w", "v"), ("v/w/x", "v")])
def test_one_file_below_another_is_refused_before_anything_is_written(
    ws: Path, names: tuple[str, str]
) -> None:
    (ws / "f.py").write_text(FUNCTION)
    added = [line for name in names for line in (f"*** Add File: {name}", "+1")]
    lines = ("*** Update File: f.py", "@@", "-    a = 1", "+    a = 2", *added)
    done = put(ws, begun(*lines))
    assert done.is_error
    assert "no folder" in done.text
    assert (ws / "f.py").read_text() == FUNCTION
    assert os.listdir(ws) == ["f.py"]  # noqa: PTH208 - names are all that is needed


@pytest.mark.parametrize(
    ("text", "hunk"),
    [
        ("x\n" * 200_000, [" x"] * 100_000 + ["-y", "+z"]),
        ("\n" * 200_000, [" "] * 100_000 + ["-y", "+z"]),
    ],
    ids=["of one line", "of blank lines"],
)
def test_the_search_for_a_large_hunk_can_be_interrupted(
    ws: Path, text: str, hunk: list[str]
) -> None:
    """Not only between hunks: there is but one."""
    (ws / "f.py").write_text(text)
    where = context(ws, interrupt=Late(looks=5))
    with pytest.raises(Interrupted):
        call(apply_patch, where, patch=begun("*** Update File: f.py", "@@", *hunk))
    assert (ws / "f.py").read_text() == text


class Late(Interrupt):
    """Trips itself when it is looked at for so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._looks = looks

    def check(self) -> None:
        self._looks -= 1
        if self._looks == 0:
            self.trip(Reason.CANCELLED)
        super().check()


def test_of_many_places_a_hunk_takes_the_first_that_none_before_it_touched(ws: Path) -> None:
    lines = 40_000
    (ws / "f.py").write_text("x\n" * lines)
    done = put(
        ws,
        begun(
            "*** Update File: f.py", "@@", "-x", "+y", " x", "@@", *["-x"] * (lines // 2), "+end"
        ),
    )
    assert not done.is_error
    assert (ws / "f.py").read_text() == "y\nx\nend\n" + "x\n" * (lines // 2 - 2)
