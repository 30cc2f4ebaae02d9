"""Files leave the workspace in pieces, as far as they would be read."""

from __future__ import annotations

import io
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.tools.workspace import open_workspace

_SIZE = 25_000_000


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    with (tmp_path / "a.bin").open("wb") as made:
        made.truncate(_SIZE)
    with open_workspace(tmp_path) as workspace, tempfile.TemporaryFile() as into:
        tracemalloc.start()
        try:
            copied = workspace.copy("a.bin", into, _SIZE)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert copied == into.tell() == _SIZE
    assert peak < 4_000_000


def test_one_that_is_too_large_is_refused_and_nothing_of_it_copied(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    into = io.BytesIO()
    with (
        open_workspace(tmp_path) as workspace,
        pytest.raises(ToolError, match=r"a\.txt: 5 bytes, more than the 4 that fit"),
    ):
        workspace.copy("a.txt", into, 4, "that fit")
    assert into.getvalue() == b""


def test_what_it_copies_is_what_it_reads(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("12345")
    into = io.BytesIO()
    with open_workspace(tmp_path) as workspace:
        assert workspace.copy("a.txt", into, 5) == 5
        assert into.getvalue() == workspace.read("a.txt", 5)
