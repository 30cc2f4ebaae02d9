"""Where files that came with messages lie, and how they are called there."""

from __future__ import annotations

import io
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from habakkuk.agent.arriving import inbox
from habakkuk.core.errors import ToolError

DIGEST = "0123456789abcdef"


@pytest.mark.parametrize(
    ("given", "mime", "called"),
    [
        ("report.pdf", "application/pdf", "report-01234567.pdf"),
        ("Größe 2.PNG", "image/png", "Größe_2-01234567.png"),
        ("../../etc/passwd", "text/plain", "passwd-01234567.txt"),
        ("C:\\Users\\x\\notes.txt", "text/plain", "notes-01234567.txt"),
        ("-rf *", "application/zip", "rf-01234567.zip"),
        (".bashrc", "application/octet-stream", "bashrc-01234567.bin"),
        ("$(id);`id`.sh", "text/x-sh", "id_id-01234567.sh"),
        ("a\u202egnp.exe", "application/octet-stream", "a_gnp-01234567.exe"),
        ("two\nlines.txt", "text/plain", "two_lines-01234567.txt"),
        ("", "audio/ogg", "file-01234567.oga"),
        ("..", "x/unheard-of", "file-01234567"),
    ],
)
def test_a_name_is_safe_and_says_what_it_is(given: str, mime: str, called: str) -> None:
    assert inbox.file_name(given, mime, DIGEST) == called


def test_a_long_name_still_fits_into_a_file_system() -> None:
    assert len(inbox.file_name("漢" * 300 + ".pdf", "application/pdf", DIGEST).encode()) < 255


def test_the_same_file_lies_there_once(tmp_path: Path) -> None:
    assert inbox.put(tmp_path, "a.txt", io.BytesIO(b"hello")) == "inbox/a.txt"
    assert inbox.put(tmp_path, "a.txt", io.BytesIO(b"hello")) == "inbox/a.txt"
    assert [path.name for path in (tmp_path / "inbox").iterdir()] == ["a.txt"]


def test_what_the_agent_changed_stays_as_it_is(tmp_path: Path) -> None:
    inbox.put(tmp_path, "a.txt", io.BytesIO(b"hello"))
    (tmp_path / "inbox" / "a.txt").write_bytes(b"changed")
    assert inbox.put(tmp_path, "a.txt", io.BytesIO(b"hello")) == "inbox/a-2.txt"
    assert (tmp_path / "inbox" / "a.txt").read_bytes() == b"changed"


def test_no_link_of_the_agent_leads_out(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "inbox").symlink_to(outside)
    with pytest.raises(ToolError, match="link"):
        inbox.put(workspace, "a.txt", io.BytesIO(b"hello"))
    assert list(outside.iterdir()) == []


def test_a_large_file_is_never_held_whole(tmp_path: Path) -> None:
    """Nor when it lies there already, and is compared."""
    with tempfile.TemporaryFile() as source:
        source.truncate(25_000_000)
        tracemalloc.start()
        try:
            paths = [inbox.put(tmp_path, "a.bin", source) for _ in range(2)]
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert paths == ["inbox/a.bin"] * 2
    assert (tmp_path / paths[0]).stat().st_size == 25_000_000
    assert peak < 4_000_000
