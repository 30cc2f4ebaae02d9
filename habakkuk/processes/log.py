"""The output of a process: two segments, and offsets that count every byte ever written.

The files are `<id>.<number>.log`, each of SEGMENT bytes but the last. The number stands in the
name, so whoever reads them in another process knows what offset a file begins at, also while the
next one is begun.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

SEGMENT = 4 * 1024 * 1024
_NAME = re.compile(r"(?P<id>[\w-]+)\.(?P<number>\d+)\.log")
# A reader that a writer overtakes this often reads what is there then.
_TRIES = 10
_LONGEST_CHARACTER = 4
_CONTINUING, _CONTINUING_MASK = 0x80, 0xC0


def log_folder(home: Path) -> Path:
    """Return where the output of all processes lies."""
    return home / "procs"


class LogWriter:
    """Writes one process's output. For one thread."""

    def __init__(self, folder: Path, process_id: str) -> None:
        """Begin; nothing is opened before something is written."""
        self._folder = folder
        self._id = process_id
        self._number = 0
        self._size = 0
        self._handle: int | None = None
        self._missed = 0

    def write(self, data: bytes) -> None:
        """Append. What a full disk does not take is left out, counted, and said when it does."""
        if self._missed and self._put(f"\n[{self._missed} bytes could not be written]\n".encode()):
            self._missed += len(data)
            return
        self._missed = self._put(data)

    def close(self) -> None:
        """Close the last segment."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _put(self, data: bytes) -> int:
        """Write, over the ends of segments; return how many bytes could not be written."""
        view = memoryview(data)
        try:
            while view:
                view = view[self._append(view) :]
        except OSError:
            return len(view)
        return 0

    def _append(self, view: memoryview) -> int:
        """Write what fits into the segment; return how much that was."""
        if self._handle is None or self._size == SEGMENT:
            self._next()
        assert self._handle is not None  # noqa: S101 - opened above
        done = os.write(self._handle, view[: SEGMENT - self._size])
        self._size += done
        return done

    def _next(self) -> None:
        """Begin the next segment and drop the one before the last."""
        number = self._number if self._handle is None else self._number + 1
        handle = os.open(
            _path(self._folder, self._id, number),
            os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
            0o640,
        )
        self.close()
        self._handle, self._number, self._size = handle, number, 0
        _path(self._folder, self._id, number - 2).unlink(missing_ok=True)


@dataclass(frozen=True)
class Part:
    """A piece of an output, from offset `start` on.

    `kept` is the first offset that is kept, `end` is how many bytes were ever written.
    """

    start: int
    data: bytes
    kept: int
    end: int

    @property
    def next(self) -> int:
        """The offset that reads on."""
        return self.start + len(self.data)

    def whole_characters(self) -> Part:
        """Return it without the pieces of UTF-8 characters at its ends, where others follow."""
        data = self.data
        head = 0
        if self.start > self.kept:
            while head < min(_LONGEST_CHARACTER - 1, len(data)) and _inside(data[head]):
                head += 1
        tail = len(data) - _broken(data[-(_LONGEST_CHARACTER - 1) :])
        if tail <= head:
            return self
        return Part(self.start + head, data[head:tail], self.kept, self.end)


def read_log(folder: Path, process_id: str, since: int, most: int) -> Part:
    """Return at most `most` bytes from offset `since` on; a negative one counts from the end.

    What was dropped is passed over. Without any output all numbers are 0.
    """
    for _ in range(_TRIES):
        with suppress(FileNotFoundError):
            return _read(folder, process_id, since, most)
    return Part(0, b"", 0, 0)


def _read(folder: Path, process_id: str, since: int, most: int) -> Part:
    numbers = sorted(segments(folder).get(process_id, ()))
    if not numbers:
        return Part(0, b"", 0, 0)
    last = numbers[-1]
    kept = [number for number in (last - 1, last) if number in numbers]
    handles = {number: _open(folder, process_id, number) for number in reversed(kept)}
    try:
        first, end = kept[0] * SEGMENT, last * SEGMENT + os.fstat(handles[last]).st_size
        start = min(max(end + since if since < 0 else since, first), end)
        data = bytearray()
        for number in kept:
            offset = start + len(data) - number * SEGMENT
            room = min(most - len(data), end - start - len(data), SEGMENT - offset)
            if 0 <= offset < SEGMENT and room > 0:
                data += os.pread(handles[number], room, offset)
        return Part(start, bytes(data), first, end)
    finally:
        for handle in handles.values():
            os.close(handle)


def segments(folder: Path) -> dict[str, list[int]]:
    """Return the numbers of the segments that lie there, by process."""
    found: dict[str, list[int]] = {}
    with suppress(FileNotFoundError):
        for name in os.listdir(folder):  # noqa: PTH208 - names are all that is needed
            if match := _NAME.fullmatch(name):
                found.setdefault(match["id"], []).append(int(match["number"]))
    return found


def remove_log(folder: Path, process_id: str) -> None:
    """Remove a process's output."""
    for number in segments(folder).get(process_id, ()):
        _path(folder, process_id, number).unlink(missing_ok=True)


def remove_old_logs(folder: Path, older: float, alive: Collection[str]) -> int:
    """Remove the output of processes that wrote nothing for `older` seconds; return how many."""
    limit, removed = time.time() - older, 0
    for process_id, numbers in segments(folder).items():
        if process_id in alive:
            continue
        newest = _path(folder, process_id, max(numbers))
        with suppress(FileNotFoundError):
            if newest.stat().st_mtime < limit:
                remove_log(folder, process_id)
                removed += 1
    return removed


def _path(folder: Path, process_id: str, number: int) -> Path:
    return folder / f"{process_id}.{number}.log"


def _open(folder: Path, process_id: str, number: int) -> int:
    return os.open(_path(folder, process_id, number), os.O_RDONLY | os.O_CLOEXEC)


def _inside(byte: int) -> bool:
    """Whether a byte is one of a UTF-8 character, but not its first."""
    return byte & _CONTINUING_MASK == _CONTINUING


def _broken(tail: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character that is not complete."""
    for back in range(1, len(tail) + 1):
        byte = tail[-back]
        if not _inside(byte):
            # As many leading ones as the character has bytes; none for ASCII.
            length = 8 - (byte ^ 0xFF).bit_length()
            return back if length > back else 0
    return 0
