"""The file of a backup: a tar of regular files and folders, written and read with our own care.

Python's tarfile reads and writes the headers only. It never extracts: its filters were got round
more than once (CVE-2025-4517, CVE-2026-11940).
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from habakkuk.core.errors import ConfigurationError, Invalid

_PIECE = 1024 * 1024
_MOST_FILES = 5_000_000
# Below what a path may have, so that what was packed here can be unpacked at a longer place; and so
# few levels that no step of either needs Python's whole stack. A command can make more of both.
_LONGEST_NAME = 3000
_LONGEST_PART = 255
_DEEPEST = 200
# What tarfile raises at headers that make no sense: not its own errors alone.
_DAMAGED = (tarfile.TarError, EOFError, ValueError, OverflowError, IndexError, KeyError)
_CUT = "the backup is cut off or damaged"
# Left free on the disk when a backup is unpacked.
_SPARE_BYTES = 64 * 1024 * 1024


class Writer:
    """Adds to an open archive."""

    def __init__(self, out: IO[bytes]) -> None:
        """Write to `out`, which need not be seekable."""
        self._tar = tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - `close` ends it
        self.files = 0
        self.skipped = 0

    def close(self) -> None:
        """Write the archive's end."""
        self._tar.close()

    def add_bytes(self, name: str, content: bytes) -> None:
        """Add a small file."""
        info = tarfile.TarInfo(name)
        info.size, info.mode = len(content), 0o600
        self._tar.addfile(info, io.BytesIO(content))

    def add_file(self, name: str, path: Path) -> None:
        """Add one file; one that is gone, or no regular file, is counted as skipped.

        Raises ConfigurationError for one that may not be read.

        It is opened without following links and its size is taken once: what a command appends
        meanwhile is left out, what it cuts off is filled with zeros.
        """
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except PermissionError as error:
            raise _unreadable(path) from error
        except OSError:
            self.skipped += 1
            return
        with os.fdopen(handle, "rb") as source:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode):
                self.skipped += 1
                return
            info = _header(name, found)
            info.size = found.st_size
            self._tar.addfile(info, _Filled(source))  # type: ignore[arg-type]  # it only reads
            self.files += 1

    def add_tree(self, name: str, path: Path) -> None:
        """Add a file, or a folder with all that lies in it.

        Links are skipped, not followed; so is what has too long a name or too many levels.
        """
        if not _fits(name):
            self.skipped += 1
            return
        try:
            found = path.lstat()
        except FileNotFoundError:
            self.skipped += 1
            return
        if not stat.S_ISDIR(found.st_mode):
            self.add_file(name, path)
            return
        info = _header(name, found)
        info.type = tarfile.DIRTYPE
        self._tar.addfile(info)
        try:
            entries = sorted(path.iterdir())
        except PermissionError as error:
            raise _unreadable(path) from error
        for entry in entries:
            self.add_tree(f"{name}/{entry.name}", entry)


def _fits(name: str) -> bool:
    """Whether a name is one that can be unpacked."""
    encoded = os.fsencode(name)
    parts = encoded.split(b"/")
    longest = max(map(len, parts))
    return len(encoded) <= _LONGEST_NAME and longest <= _LONGEST_PART and len(parts) <= _DEEPEST


def _header(name: str, found: os.stat_result) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.mode = stat.S_IMODE(found.st_mode)
    info.mtime = int(found.st_mtime)
    return info


def _unreadable(path: Path) -> ConfigurationError:
    return ConfigurationError(
        f"{path}: cannot be read; run this as the user who runs Habakkuk, or who runs its workers"
    )


class _Filled:
    """A file as long as it is asked for: what is missing is zeros."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def read(self, size: int) -> bytes:
        return self._source.read(size).ljust(size, b"\0")


@dataclass(frozen=True)
class Member:
    """One entry of an archive, as its header says."""

    parts: tuple[str, ...]
    folder: bool
    mode: int
    size: int


class Reader:
    """Reads an archive from front to back."""

    def __init__(self, source: IO[bytes]) -> None:
        """Read from `source`, which need not be seekable. Raises Invalid."""
        try:
            self._tar = tarfile.open(fileobj=source, mode="r|")  # noqa: SIM115 - owns nothing to close
        except _DAMAGED as error:
            raise Invalid("this is no backup of Habakkuk, or not all of it") from error

    def members(self) -> Iterator[tuple[Member, IO[bytes]]]:
        """Yield each entry with its content, to be read before the next is asked for.

        Raises Invalid at the first that is neither a regular file nor a folder, or leads outside.
        """
        count = 0
        try:
            for info in self._tar:
                count += 1
                if count > _MOST_FILES:
                    raise Invalid("the backup has too many files")
                content = self._tar.extractfile(info) if info.isreg() else None
                yield _member(info), content or io.BytesIO()
        except _DAMAGED as error:
            raise Invalid(_CUT) from error


def read_small(content: IO[bytes], most: int) -> bytes:
    """Return the first `most` bytes of an entry. Raises Invalid where it is cut off."""
    try:
        return content.read(most)
    except _DAMAGED as error:
        raise Invalid(_CUT) from error


def _member(info: tarfile.TarInfo) -> Member:
    plain = info.type in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE}
    if not plain or info.issparse():
        raise Invalid(f"the backup holds {info.name!r}, which is neither a file nor a folder")
    parts = tuple(info.name.split("/"))
    if info.size < 0:
        raise Invalid(_CUT)
    if {"", ".", ".."}.intersection(parts) or "\0" in info.name or not _fits(info.name):
        raise Invalid(f"the backup holds the name {info.name!r:.200}, which leads elsewhere")
    return Member(parts, info.type == tarfile.DIRTYPE, info.mode, info.size)


def unpack(member: Member, content: IO[bytes], target: Path) -> None:
    """Write one entry below a folder that is ours alone. Raises Invalid.

    Nothing is replaced, so a name that comes twice is an error and no link can be written through.
    """
    try:
        if member.folder:
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.chmod(0o700 | (member.mode & 0o051))
            return
        if member.size > shutil.disk_usage(target.anchor).free - _SPARE_BYTES:
            raise Invalid("the backup does not fit on this disk; make room and try again")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "wb") as out:
            os.fchmod(handle, 0o600 | (member.mode & 0o100))
            _copy(content, out, member.size)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise Invalid(f"the backup holds {'/'.join(member.parts)!r:.200} twice") from error


def _copy(source: IO[bytes], out: IO[bytes], size: int) -> None:
    left = size
    while left:
        try:
            piece = source.read(min(_PIECE, left))
        except _DAMAGED as error:
            raise Invalid(_CUT) from error
        if not piece:
            raise Invalid(_CUT)
        out.write(piece)
        left -= len(piece)
