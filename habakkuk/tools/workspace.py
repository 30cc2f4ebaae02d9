"""The files of an agent's workspace, and no others.

A path is walked from the workspace down, one directory descriptor after the other, and no link is
followed on the way: whatever another process swaps meanwhile, what is opened lies beneath. Reading
a path's text alone proves nothing, since it can name another file a moment later.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.kinds import expect_file
from habakkuk.tools.paths import inside

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK opening a pipe waits for its other end.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE, _NEW_FOLDER = 0o644, 0o755
_LOCK_POLL = 0.02
_LOCK_SECONDS = 20.0
_PIECE = 1_000_000
_READ_AT_ONCE = "that can be read at once; look at a part of it with exec"
# Looks at what was opened; raises ToolError.
Check = Callable[[os.stat_result], None]


@dataclass(frozen=True)
class Change:
    """What becomes of one file: its bytes, None removes it. `mode` None keeps the one it has."""

    path: str
    data: bytes | None
    mode: int | None = None


def prepare_workspace(path: Path) -> None:
    """Make the workspace when it is missing, closed to others.

    As root it belongs to the agents' user, with all that lay in it before.
    """
    # The folders above can be passed by the agents' user, where that is needed, and not listed.
    for above in reversed(path.parents):
        above.mkdir(mode=0o711, exist_ok=True)
    path.mkdir(mode=0o700, exist_ok=True)
    user = find_agent_user() if os.geteuid() == 0 else None
    if user is None or path.lstat().st_uid == user.uid:
        return
    for _, folders, files, folder in os.fwalk(path, follow_symlinks=False):
        for name in (*folders, *files):
            _give(name, folder, user)
    # Last: a folder that belongs to the user already is not looked through again.
    os.chown(path, user.uid, user.gid, follow_symlinks=False)
    path.chmod(0o700)


def _give(name: str, folder: int, user: AgentUser) -> None:
    """Give one entry away; a file with a second name may be a file of somebody else."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
        os.chown(name, user.uid, user.gid, dir_fd=folder, follow_symlinks=False)


class Workspace:
    """One open workspace. Every method raises ToolError, which names the path as it was given."""

    def __init__(self, path: Path, folder: int) -> None:
        """Take the workspace's path and an open descriptor of it."""
        self.path = path
        self._folder = folder
        self._owner = os.fstat(folder)

    def read(
        self, path: str, limit: int, over: str = _READ_AT_ONCE, check: Check | None = None
    ) -> bytes:
        """Return a file's bytes; one with more than `limit` is refused, and `over` says why.

        `check` is shown what was opened, before a byte of it is read, and raises ToolError.
        """
        kept = io.BytesIO()
        self.copy(path, kept, limit, over, check)
        return kept.getvalue()

    def copy(
        self,
        path: str,
        into: BinaryIO,
        limit: int,
        over: str = _READ_AT_ONCE,
        check: Check | None = None,
    ) -> int:
        """Copy a file in pieces, as far as `read` would read it; return how many bytes it has."""
        copied = 0
        with self.opened(path) as file:
            found = os.fstat(file.fileno())
            if check is not None:
                check(found)
            if found.st_size > limit:
                raise ToolError(f"{path}: {found.st_size} bytes, more than the {limit} {over}")
            while piece := file.read(min(_PIECE, limit + 1 - copied)):
                copied += len(piece)
                if copied > limit:
                    raise ToolError(f"{path}: it grows while it is read, past {limit} bytes")
                into.write(piece)
        return copied

    @contextmanager
    def opened(self, path: str) -> Iterator[BinaryIO]:
        """Open a file to read it."""
        with (
            _explained(path),
            self._parent(path) as (folder, name),
            os.fdopen(self._open(path, folder, name), "rb") as file,
        ):
            yield file

    def write(self, path: str, data: bytes | BinaryIO) -> bool:
        """Put a file in place, whole or not at all; True when it replaced one.

        What is given as a file is taken from its beginning, in pieces. Missing folders are made. An
        existing file keeps its mode.
        """
        with _explained(path), self._parent(path, make=True) as (folder, name):
            mode = self._replaceable(path, folder, name)
            self._replace(folder, name, data, _NEW_FILE if mode is None else mode)
        return mode is not None

    def mode(self, path: str) -> int | None:
        """Return a file's mode, None when there is none at this path."""
        names = inside(path, self.path)
        with ExitStack() as stack, _explained(path):
            try:
                folder, name = stack.enter_context(self._parent("/".join(names)))
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            except FileNotFoundError:
                return None
            expect_file(path, found)
            self._expect_own(path, found)
            return stat.S_IMODE(found.st_mode) & 0o777

    def has_folder(self, path: str) -> bool:
        """Whether the folder that holds `path` is there."""
        try:
            with self._parent(path):
                return True
        except (FileNotFoundError, ToolError):
            return False

    def change(self, changes: Sequence[Change], passed: Callable[[], None]) -> None:
        """Make several changes, or none when one of them cannot be prepared.

        All contents are written beside their files first, with the folders they need. Only then
        they are put in place, one rename after the other, and what goes is removed last. A process
        killed before the first rename has changed no file; one killed between two leaves some
        changed and the others as they were, each of them whole. No file system has one step for
        several files, and to finish later what was begun would act behind the back of whoever read
        the files meanwhile. `passed` is called after each step that shows.
        """
        with ExitStack() as stack:
            ready: list[tuple[int, str, str | None]] = []
            try:
                for change in changes:
                    # One by one: what is ready must be known when the next one fails.
                    ready.append(self._ready(change, stack))  # noqa: PERF401 - see above
            except BaseException:
                for folder, _, part in ready:
                    _drop(folder, part)
                self._prune(c.path for c in changes if c.data is not None)
                raise
            for folder, name, part in sorted(ready, key=lambda item: item[2] is None):
                if part is None:
                    _drop(folder, name)
                else:
                    os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
                passed()
            for folder in {folder for folder, _, _ in ready}:
                os.fsync(folder)
        self._prune(change.path for change in changes if change.data is None)

    def remove(self, path: str) -> None:
        """Remove a file or a link, whatever it leads to, and the folders that are empty then.

        One that is gone already is no error.
        """
        with _explained(path), suppress(FileNotFoundError), self._parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)
        self._prune([path])

    def _ready(self, change: Change, stack: ExitStack) -> tuple[int, str, str | None]:
        """Return a change's folder, its file and the new content beside it; None removes."""
        path, data = change.path, change.data
        with _explained(path):
            folder, name = stack.enter_context(self._parent(path, make=data is not None))
            mode = self._replaceable(path, folder, name)
            if data is None:
                if mode is None:
                    raise FileNotFoundError
                return folder, name, None
            chosen = change.mode if change.mode is not None else mode
            return folder, name, self._part(folder, data, _NEW_FILE if chosen is None else chosen)

    def _prune(self, paths: Iterable[str]) -> None:
        """Remove the folders above these files that hold nothing more."""
        for path in paths:
            names = inside(path, self.path)[:-1]
            while names:
                with suppress(OSError, ToolError), self._walk(path, names[:-1]) as folder:
                    os.rmdir(names[-1], dir_fd=folder)
                    names = names[:-1]
                    continue
                break

    @contextmanager
    def alone(self, path: str, interrupt: Interrupt) -> Iterator[None]:
        """Keep other edits of files in the same folder out; calls of one step run in parallel."""
        with _explained(path), self._parent(path) as (folder, _):
            left = _LOCK_SECONDS
            while not _locked(folder):
                interrupt.wait(_LOCK_POLL)
                interrupt.check()
                left -= _LOCK_POLL
                if left <= 0:
                    raise ToolError(f"{path}: another program keeps its folder locked")
            yield

    @contextmanager
    def folder(self, path: str) -> Iterator[int]:
        """Open a folder of the workspace, or the workspace itself."""
        with _explained(path), self._walk(path, inside(path, self.path)) as handle:
            yield handle

    def _open(self, path: str, folder: int, name: str) -> int:
        # Looked at before it is opened: opening a device can already do something.
        expect_file(path, os.stat(name, dir_fd=folder, follow_symlinks=False))
        handle = os.open(name, _READ, dir_fd=folder)
        try:
            found = os.fstat(handle)
            expect_file(path, found)
            self._expect_own(path, found)
        except BaseException:
            os.close(handle)
            raise
        return handle

    def _expect_own(self, path: str, found: os.stat_result) -> None:
        """Refuse a second name of a file that is not the workspace's own."""
        if found.st_nlink > 1 and found.st_uid != self._owner.st_uid:
            raise ToolError(f"{path}: a hard link to a file of somebody else")

    def _replaceable(self, path: str, folder: int, name: str) -> int | None:
        """Return the mode of the file that would be replaced, None when there is none."""
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        expect_file(path, found)
        if found.st_nlink > 1:
            raise ToolError(f"{path}: the file has a second name (a hard link) and is not replaced")
        return stat.S_IMODE(found.st_mode) & 0o777

    def _replace(self, folder: int, name: str, data: bytes | BinaryIO, mode: int) -> None:
        part = self._part(folder, data, mode)
        try:
            os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _drop(folder, part)
            raise
        os.fsync(folder)

    def _part(self, folder: int, data: bytes | BinaryIO, mode: int) -> str:
        """Write a file's new content beside it, to the disk; return its name there."""
        part = f".habakkuk-{secrets.token_hex(6)}.part"
        handle = os.open(part, _CREATE, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as out:
                if isinstance(data, bytes):
                    out.write(data)
                else:
                    data.seek(0)
                    shutil.copyfileobj(data, out, _PIECE)
                out.flush()
                self._own(handle)
                os.fchmod(handle, mode)
                os.fsync(handle)
        except BaseException:
            _drop(folder, part)
            raise
        return part

    def _own(self, handle: int) -> None:
        """Give what root made to the workspace's owner, so that the agent's commands can use it."""
        if os.geteuid() == 0:
            os.fchown(handle, self._owner.st_uid, self._owner.st_gid)

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that holds `path`; give it with the last name."""
        names = inside(path, self.path)
        if not names:
            raise ToolError(f"{path or '(empty path)'}: name a file in the workspace")
        with self._walk(path, names[:-1], make=make) as folder:
            yield folder, names[-1]

    @contextmanager
    def _walk(self, path: str, names: Sequence[str], *, make: bool = False) -> Iterator[int]:
        # A descriptor of its own even for the workspace: locks and positions belong to it.
        here = os.open(".", _FOLDER, dir_fd=self._folder)
        try:
            for name in names:
                if make:
                    self._make(here, name)
                following = _step(path, here, name)
                os.close(here)
                here = following
            yield here
        finally:
            os.close(here)

    def _make(self, folder: int, name: str) -> None:
        try:
            os.mkdir(name, _NEW_FOLDER, dir_fd=folder)
        except FileExistsError:
            return
        made = os.open(name, _FOLDER, dir_fd=folder)
        try:
            self._own(made)
        finally:
            os.close(made)


@contextmanager
def open_workspace(path: Path) -> Iterator[Workspace]:
    """Open the workspace at `path`, made when it is missing."""
    with _explained(str(path)):
        prepare_workspace(path)
        folder = os.open(path, _FOLDER)
    try:
        yield Workspace(path, folder)
    finally:
        os.close(folder)


def _drop(folder: int, name: str | None) -> None:
    if name is not None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)


def _step(path: str, folder: int, name: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        # Systems say either of a link where a folder is wanted.
        if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EMLINK}:
            raise ToolError(
                f"{path}: {name!r} is a symbolic link or no folder, and links are not followed"
            ) from error
        raise


def _locked(folder: int) -> bool:
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Say what the system says, to the model."""
    try:
        yield
    except FileNotFoundError as error:
        raise ToolError(f"{path}: there is no such file or folder") from error
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ToolError(f"{path}: {reason}") from error
