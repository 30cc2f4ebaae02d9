"""Output in two segments: offsets count every byte, and a reader may come at any moment."""

from __future__ import annotations

import errno
import os
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from habakkuk.processes import log
from habakkuk.processes.log import (
    LogWriter,
    Part,
    read_log,
    remove_log,
    remove_old_logs,
    segments,
)

SMALL = 100


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SEGMENT", SMALL)


def _text(size: int) -> bytes:
    """Return bytes that say where they stand."""
    return b"".join(b"%07d\n" % (number * 8) for number in range(size // 8 + 1))[:size]


@pytest.mark.parametrize("size", [0, 1, 99, 100, 101, 199, 200, 201, 1000, 1001])
def test_the_last_one_to_two_segments_are_kept_at_their_offsets(tmp_path: Path, size: int) -> None:
    whole, writer = _text(size), LogWriter(tmp_path, "p_1")
    writer.write(whole)
    writer.close()
    part = read_log(tmp_path, "p_1", 0, 10_000)
    assert part.end == size
    assert part.data == whole[part.start :]
    assert part.start == part.kept
    assert min(size, SMALL) <= len(part.data) <= 2 * SMALL
    assert len(segments(tmp_path).get("p_1", [])) <= 2


def test_pieces_are_the_same_as_the_whole(tmp_path: Path) -> None:
    """However it comes, and however it is read."""
    chance, whole = random.Random(1), _text(1500)
    writer, written = LogWriter(tmp_path, "p_1"), 0
    read, since = b"", 0
    while written < len(whole):
        step = chance.randint(1, 70)
        writer.write(whole[written : written + step])
        written = min(written + step, len(whole))
        while (part := read_log(tmp_path, "p_1", since, chance.randint(1, 40))).data:
            assert part.start == since
            read, since = read + part.data, part.next
    assert read == whole


def test_negative_offsets_count_from_the_end(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, "p_1")
    writer.write(_text(250))
    assert read_log(tmp_path, "p_1", -10, 100).data == _text(250)[-10:]
    # More than is kept: all that is.
    assert read_log(tmp_path, "p_1", -10_000, 100).start == 100
    assert read_log(tmp_path, "p_1", 10_000, 100) == Part(250, b"", 100, 250)


def test_without_output_there_is_nothing(tmp_path: Path) -> None:
    assert read_log(tmp_path / "none", "p_1", 0, 10) == Part(0, b"", 0, 0)


def test_a_reader_beside_the_writer_never_sees_a_wrong_byte(tmp_path: Path) -> None:
    whole = _text(200_000)
    over = threading.Event()

    def write() -> None:
        writer = LogWriter(tmp_path, "p_1")
        for at in range(0, len(whole), 37):
            writer.write(whole[at : at + 37])
        over.set()

    thread = threading.Thread(target=write)
    thread.start()
    looks = 0
    while not over.is_set():
        part = read_log(tmp_path, "p_1", -150, 150)
        assert part.data == whole[part.start : part.next]
        looks += 1
    thread.join()
    assert looks


def test_a_full_disk_leaves_a_gap_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, write, full = LogWriter(tmp_path, "p_1"), os.write, [False]

    def limited(handle: int, data: bytes) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data)

    monkeypatch.setattr(os, "write", limited)
    writer.write(b"before")
    full[0] = True
    writer.write(b"lost")
    writer.write(b"too")
    full[0] = False
    writer.write(b"after")
    part = read_log(tmp_path, "p_1", 0, 1000)
    assert part.data == b"before\n[7 bytes could not be written]\nafter"
    assert part.end == len(part.data)


@pytest.mark.parametrize("text", ["abc", "aé", "a€", "a😀", "😀😀"])
def test_no_character_is_cut_at_the_end(text: str) -> None:
    data = text.encode()
    for cut in range(1, len(data) + 1):
        part = Part(0, data[:cut], 0, len(data)).whole_characters()
        shown = part.data.decode("utf-8", "replace")
        # Nothing but the piece of one character is shown as it is, or none would ever be.
        assert "\ufffd" not in shown or part.data == data[:cut]
        assert text.startswith(shown.replace("\ufffd", ""))


def test_no_character_is_cut_at_the_beginning_of_a_tail() -> None:
    data = "a😀b".encode()
    for cut in range(2, 5):
        part = Part(cut, data[cut:], 0, len(data)).whole_characters()
        assert (part.start, part.data) == (5, b"b")


@given(st.binary(max_size=60), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_whole_characters_end_on_any_bytes_and_go_on(data: bytes, start: int) -> None:
    """Read on from each part's end all bytes are seen, whatever they are."""
    seen, since = b"", start
    while since < len(data):
        part = Part(since, data[since : since + 7], start, len(data))
        whole = part.whole_characters()
        assert whole.next > since
        seen, since = seen + data[since : whole.next], whole.next
    assert seen == data[start:]


def test_removing_takes_every_segment_and_no_other_process(tmp_path: Path) -> None:
    for name in ("p_1", "p_10"):
        writer = LogWriter(tmp_path, name)
        writer.write(_text(150))
        writer.close()
    remove_log(tmp_path, "p_1")
    assert set(segments(tmp_path)) == {"p_10"}


def test_old_output_goes_but_for_what_runs(tmp_path: Path) -> None:
    for name in ("old", "quiet", "new"):
        writer = LogWriter(tmp_path, name)
        writer.write(b"x")
        writer.close()
    for name in ("old", "quiet"):
        os.utime(tmp_path / f"{name}.0.log", (0, 0))
    assert remove_old_logs(tmp_path, 60, {"quiet"}) == 1
    assert set(segments(tmp_path)) == {"quiet", "new"}


def test_others_may_not_read_it(tmp_path: Path) -> None:
    writer = LogWriter(tmp_path, "p_1")
    writer.write(b"x")
    assert (tmp_path / "p_1.0.log").stat().st_mode & 0o007 == 0
