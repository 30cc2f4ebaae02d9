"""One agent's repository of checkpoints: its files are read into it, and never run anything."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from habakkuk.core.agent_user import find_agent_user
from habakkuk.core.log import get_logger
from habakkuk.tools.checkpoints.git import Git
from habakkuk.tools.checkpoints.types import Checkpoint, Kind, Label, NoCheckpoint

_log = get_logger("tools.checkpoints")
LARGEST_FILE = 20_000_000
_REFS = "refs/checkpoints/"
_NEVER = "0" * 40
_FORMAT = "--format=%(refname:lstrip=2)%00%(tree)%00%(contents)%00%01"
# Nothing that a .gitattributes asks for is done: no filter, no line ends, no encoding.
_ATTRIBUTES = "* -text -ident -filter !eol !working-tree-encoding !diff !merge\n"
# What writing a file leaves for a moment, or for longer when it is killed.
_EXCLUDED = ".habakkuk-*.part\n"
# Packing takes minutes in a large repository, and turns wait meanwhile.
_LOOSE = 2_000
_KEPT_COUNT, _KEPT_SECONDS = 200, 30 * 86_400.0
_LEAST_KEPT = 10


@dataclass(frozen=True)
class Scan:
    """What differs from the last checkpoint: paths to take up, paths to forget, bytes to read."""

    take: Sequence[str]
    forget: Sequence[str]
    size: int


class Shadow:
    """The repository, while its lock is held."""

    def __init__(self, git: Git) -> None:
        """Make the repository when it is missing. Raises NoCheckpoint."""
        self.git = git
        if not (git.repository / "HEAD").exists():
            _make(git)
        # Git is not running: it would hold the lock. What a killed one left stops the next.
        for left in ("index.lock", "HEAD.lock", "packed-refs.lock"):
            (git.repository / left).unlink(missing_ok=True)

    def stage(self, limit: int) -> str:
        """Read the workspace; return git's name of its files.

        Raises NoCheckpoint when more than `limit` bytes are new or changed.
        """
        scan = self._scan()
        if scan.size > limit:
            raise NoCheckpoint(
                f"{scan.size / 1e6:,.0f} MB are new or changed, more than the {limit / 1e6:,.0f} of"
                " checkpoint_max_mb"
            )
        if scan.forget:
            self._index(scan.forget, "--force-remove")
        if scan.take:
            self._index(scan.take, "--add", "--remove", "--replace")
        return self.git.run("write-tree").decode().strip()

    def keep(self, label: Label, tree: str) -> None:
        """Make a checkpoint of a tree. Raises NoCheckpoint when its id is taken."""
        message = json.dumps(asdict(label) | {"at": time.time()}).encode()
        commit = self.git.run("commit-tree", tree, "-F", "-", given=message).decode().strip()
        self.git.run("update-ref", "--no-deref", f"{_REFS}{label.id}", commit, _NEVER)

    def all(self) -> list[Checkpoint]:
        """Return the checkpoints, the newest first."""
        listed = self.git.run("for-each-ref", _FORMAT, _REFS).decode("utf-8", "replace")
        found = [_read(one) for one in listed.split("\0\x01\n") if one]
        return sorted((one for one in found if one), key=lambda one: one.at, reverse=True)

    def stat(self, before: str, after: str, path: str | None = None) -> str:
        """Return the statistics of what differs between two trees; empty when nothing does."""
        only = ["--", path] if path else []
        words = ["--stat=100", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color"]
        return (
            self.git.run("diff-tree", "-r", *words, "--ignore-submodules=all", before, after, *only)
            .decode("utf-8", "replace")
            .rstrip()
        )

    def differing(
        self, before: str, after: str, path: str | None = None
    ) -> Iterator[tuple[str, str]]:
        """Yield (letter, path) of what differs: A added, M changed, D deleted, T another kind."""
        only = ["--", path] if path else []
        words = ["--name-status", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"]
        listed = self.git.run(
            "diff-tree", "-r", *words, "--ignore-submodules=all", before, after, *only
        )
        parts = listed.split(b"\0")[:-1]
        for letter, name in zip(parts[::2], parts[1::2], strict=True):
            yield letter.decode(), os.fsdecode(name)

    def write_out(self, tree: str, paths: Sequence[str]) -> None:
        """Write these files of a tree into the workspace, over what is there."""
        index = self.git.repository / "restore-index"
        self.git.run("read-tree", tree, index=index)
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self.git.run("checkout-index", "-f", "-z", "--stdin", given=given, index=index)
        index.unlink(missing_ok=True)

    def clear(self, most_bytes: int) -> int:
        """Remove old checkpoints and what only they held; return how many went.

        The newest 200 of the last 30 days stay, fewer when they take more than `most_bytes`.
        """
        found = self.all()
        oldest = time.time() - _KEPT_SECONDS
        gone = [one for n, one in enumerate(found) if n >= _KEPT_COUNT or one.at < oldest]
        kept = [one for one in found if one not in gone]
        if gone or self._loose() > _LOOSE:
            self._drop(gone)
        while self._size() > most_bytes and len(kept) > _LEAST_KEPT:
            half = max(len(kept) // 2, _LEAST_KEPT)
            gone += kept[half:]
            self._drop(kept[half:])
            kept = kept[:half]
        return len(gone)

    def _drop(self, gone: Sequence[Checkpoint]) -> None:
        if gone:
            lines = "".join(f"delete {_REFS}{one.id}\n" for one in gone)
            self.git.run("update-ref", "--no-deref", "--stdin", given=lines.encode())
        self.git.run("gc", "--quiet", "--prune=now")

    def _loose(self) -> int:
        return sum(1 for _ in self.git.repository.glob("objects/[0-9a-f][0-9a-f]/*"))

    def _size(self) -> int:
        files = (path for path in self.git.repository.rglob("*") if path.is_file())
        return sum(path.lstat().st_size for path in files)

    def _scan(self) -> Scan:
        """Compare the workspace with what was read last. Ignored files are forgotten."""
        changed = self._listed("-o", "-m", "-d", "--exclude-standard")
        forget = self._listed("-c", "-i", "--exclude-standard")
        behind = cache(self._is_link)
        take, size = [], 0
        for path in changed - forget:
            # A repository inside of the workspace is listed as a folder.
            if path.endswith("/"):
                continue
            found = _look(self.git.workspace / path)
            above = path.split("/")[:-1]
            hidden = any(behind("/".join(above[: n + 1])) for n in range(len(above)))
            if hidden or (found is not None and not self._readable(found)):
                forget.add(path)
                continue
            size += found.st_size if found and stat.S_ISREG(found.st_mode) else 0
            take.append(path)
        return Scan(sorted(take), sorted(forget), size)

    def _listed(self, *which: str) -> set[str]:
        listed = self.git.run("ls-files", "-z", *which)
        return {os.fsdecode(name) for name in listed.split(b"\0") if name}

    def _is_link(self, path: str) -> bool:
        found = _look(self.git.workspace / path)
        return found is not None and not stat.S_ISDIR(found.st_mode)

    def _readable(self, found: os.stat_result) -> bool:
        """Whether a file is small enough, and git's user may read it."""
        if stat.S_ISLNK(found.st_mode):
            return True
        if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST_FILE:
            return False
        user = find_agent_user() if os.geteuid() == 0 else None
        uid = user.uid if user else os.geteuid()
        own = stat.S_IRUSR if found.st_uid == uid else stat.S_IROTH
        return uid == 0 or bool(found.st_mode & own)

    def _index(self, paths: Sequence[str], *how: str) -> None:
        given = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self.git.run("update-index", *how, "-z", "--stdin", given=given)


def _look(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _read(listed: str) -> Checkpoint | None:
    """Read one line of git's list; None when it is not as it was written."""
    name, tree, message = listed.split("\0", 2)
    try:
        said = json.loads(message)
        at = float(said.pop("at"))
        label = Label(**said | {"id": name, "kind": Kind(said["kind"])})
    except (ValueError, TypeError, KeyError):
        _log.warning("a checkpoint cannot be read", checkpoint=name)
        return None
    return Checkpoint(label, at, tree)


def _make(git: Git) -> None:
    """Make the repository beside its place, complete, and give it to git's user."""
    place = git.repository
    part = place.with_suffix(".part")
    for old in (part, place):
        shutil.rmtree(old, ignore_errors=True)
    for folder in ("objects/info", "objects/pack", "refs/heads", "info"):
        (part / folder).mkdir(parents=True)
    (part / "HEAD").write_text("ref: refs/heads/none\n")
    (part / "config").write_text("[core]\n\trepositoryformatversion = 0\n")
    (part / "info/attributes").write_text(_ATTRIBUTES)
    (part / "info/exclude").write_text(_EXCLUDED)
    user = find_agent_user() if os.geteuid() == 0 else None
    for path in (part, *part.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        if user is not None:
            os.chown(path, user.uid, user.gid)
    part.rename(place)
