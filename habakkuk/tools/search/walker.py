"""Search files without ripgrep: a program, run by path in a process of its own.

`python -I walker.py`, the query as JSON on standard input, a line of JSON for each match on
standard output. It is a process because both the model's expression and the patterns of a
.gitignore may take for ever, and nothing but a kill ends that: the system's alarm kills it when one
file or one folder takes more than two seconds. As root it becomes the agents' user before it reads
anything.

Folders are opened one after the other, and no link is followed.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import resource
import signal
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_STEP_SECONDS = 2.0
_MEMORY = 2_000_000_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SNIFF = 8_192
_DEEPEST = 64
_RULES = ".gitignore"
_LARGEST_RULES = 200_000
_MOST_ALTERNATIVES = 32
_ESCAPED = re.compile(r"\\(.)")
_BRACE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class _Rule:
    """One line of a .gitignore. `folders`: it is for folders only.

    `depth` is the number of names in a path that it can match: 0, the last name alone counts; None,
    any number.
    """

    pattern: GitIgnoreSpecPattern
    folders: bool
    depth: int | None

    def matches(self, path: str, *, folder: bool) -> bool:
        if self.folders and not folder:
            return False
        if self.depth and self.depth != path.count("/") + 1:
            return False
        shown = path.rpartition("/")[2] if self.depth == 0 else path
        return self.pattern.match_file(shown) is not None


class Ignores:
    """The rules that hold in a folder: its own .gitignore before those above it."""

    def __init__(self, levels: Sequence[tuple[str, Sequence[_Rule]]] = ()) -> None:
        """Take rules with the folder that they stand in, the deepest first."""
        self._levels = tuple(levels)

    def below(self, folder: str, text: str) -> Ignores:
        """Return what holds in a folder with this .gitignore; `folder` ends in "/" or is empty."""
        lines = (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))
        rules = [rule for line in lines if (rule := _rule(line)) is not None]
        return Ignores(((folder, rules), *self._levels))

    def ignored(self, path: str, *, folder: bool) -> bool:
        """Whether the last rule that matches a path says so. Folders above it are not asked."""
        for above, rules in self._levels:
            shown = path.removeprefix(above)
            for rule in reversed(rules):
                if rule.matches(shown, folder=folder):
                    return bool(rule.pattern.include)
        return False


def _rule(line: str) -> _Rule | None:
    """Read a line as git does; None when it is no rule.

    The library would match a class such as [!a] with a slash, and what lies below a match too; it
    does not know that a slash may be escaped.
    """
    while line.endswith(" ") and not line.endswith("\\ "):
        line = line[:-1]
    folders, text = line.endswith("/"), line.removesuffix("/")
    if text.endswith("/") or text.removeprefix("!").startswith("\\/"):
        return None
    text = _ESCAPED.sub(lambda found: "/" if found[1] == "/" else found[0], text)
    if text.endswith(" ") and not text.endswith("\\ "):
        text = text[:-1] + "\\ "
    names = text.removeprefix("!").removeprefix("/").split("/")
    depth = 0 if "/" not in text else None if "**" in names else len(names)
    try:
        pattern = GitIgnoreSpecPattern(text)
    except ValueError:
        return None
    return None if pattern.include is None else _Rule(pattern, folders, depth)


def fits(glob: str, path: str) -> bool:
    """Whether a file's path fits a glob: "*.py" at any depth, "src/**/*.py" from the workspace on.

    Linear enough for any glob: fnmatch goes back for no star but the last, and parts are compared
    once each.
    """
    return any(_fits(one, path) for one in _alternatives(glob))


def _alternatives(glob: str) -> Sequence[str]:
    """Return what "{a,b}" stands for, a few of them."""
    found = [glob]
    while len(found) < _MOST_ALTERNATIVES and (brace := _BRACE.search(found[0])):
        head, tail = found[0][: brace.start()], found[0][brace.end() :]
        found = [*found[1:], *(head + one + tail for one in brace[1].split(","))]
    return found


def _fits(glob: str, path: str) -> bool:
    wanted = glob.strip("/").split("/")
    if "/" not in glob.rstrip("/"):
        wanted = ["**", *wanted]
    # For each beginning of the path, whether the parts of the glob so far fit it.
    parts = path.split("/")
    reached = [True] + [False] * len(parts)
    for want in wanted:
        if want == "**":
            first = reached.index(True) if True in reached else len(reached)
            reached = [at >= first for at in range(len(reached))]
        else:
            reached = [False] + [
                before and fnmatch.fnmatchcase(part, want)
                for before, part in zip(reached, parts, strict=False)
            ]
    return reached[-1]


class Walker:
    """One search below an open folder, the workspace."""

    def __init__(self, root: int, query: dict[str, Any]) -> None:
        """Take the query as the parent writes it. Raises re.error on an expression that is none."""
        self._root = root
        flags = re.IGNORECASE if query["ignore_case"] else 0
        self._pattern = re.compile(query["pattern"], flags)
        self._glob: str | None = query["glob"]
        self._path: str = query["path"]
        self._files_only: bool = query["files_only"]
        self._longest: int = query["longest_line"]
        self._largest: int = query["largest_file"]
        self._files_left: int = query["most_files"]
        self._until = time.monotonic() + query["seconds"]
        self.gave_up: str | None = None

    def run(self) -> Iterator[list[Any]]:
        """Yield [path, line number, line]; sets `gave_up` when a limit ended it."""
        parts = [part for part in self._path.split("/") if part not in {"", "."}]
        here = os.open(".", _FOLDER, dir_fd=self._root)
        ignores, prefix = Ignores(), ""
        try:
            for depth, part in enumerate(parts):
                ignores = self._entered(here, prefix, ignores)
                path = prefix + part
                if depth == len(parts) - 1 and not _is_folder(here, part):
                    yield from self._file(here, part, path)
                    return
                if ignores.ignored(path, folder=True):
                    # Named outright, it is looked into all the same.
                    ignores = Ignores()
                following = os.open(part, _FOLDER, dir_fd=here)
                os.close(here)
                here, prefix = following, path + "/"
            yield from self._folder(here, prefix, ignores, len(parts))
        finally:
            os.close(here)

    def _entered(self, folder: int, prefix: str, ignores: Ignores) -> Ignores:
        _alarm()
        try:
            handle = os.open(_RULES, _FILE, dir_fd=folder)
        except OSError:
            return ignores
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return ignores
            text = file.read(_LARGEST_RULES).decode("utf-8", "surrogateescape")
        return ignores.below(prefix, text)

    def _folder(
        self, folder: int, prefix: str, ignores: Ignores, depth: int
    ) -> Iterator[list[Any]]:
        ignores = self._entered(folder, prefix, ignores)
        with os.scandir(folder) as entries:
            names = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if not entry.name.startswith(".") and not entry.is_symlink()
            )
        for name, is_folder in names:
            if self._over():
                return
            _alarm()
            path = prefix + name
            if ignores.ignored(path, folder=is_folder):
                continue
            if not is_folder:
                if self._glob is None or fits(self._glob, path):
                    yield from self._file(folder, name, path)
            elif depth < _DEEPEST:
                yield from self._below(folder, name, path, ignores, depth)

    def _below(
        self, folder: int, name: str, path: str, ignores: Ignores, depth: int
    ) -> Iterator[list[Any]]:
        try:
            handle = os.open(name, _FOLDER, dir_fd=folder)
        except OSError:
            return
        try:
            yield from self._folder(handle, path + "/", ignores, depth + 1)
        finally:
            os.close(handle)

    def _over(self) -> bool:
        if self._files_left <= 0:
            self.gave_up = "files"
        elif time.monotonic() > self._until:
            self.gave_up = "seconds"
        return self.gave_up is not None

    def _file(self, folder: int, name: str, path: str) -> Iterator[list[Any]]:
        self._files_left -= 1
        data = self._read(folder, name)
        if data is None or b"\0" in data[:_SNIFF]:
            return
        lines = data.decode("utf-8", "replace").split("\n")
        if lines[-1] == "":
            lines.pop()
        for number, line in enumerate(lines, 1):
            text = line.removesuffix("\r")
            if self._pattern.search(text):
                if self._files_only:
                    yield [path, 0, ""]
                    return
                yield [path, number, text[: self._longest + 1]]

    def _read(self, folder: int, name: str) -> bytes | None:
        try:
            if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                return None
            handle = os.open(name, _FILE, dir_fd=folder)
        except OSError:
            return None
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > self._largest:
                return None
            _alarm()
            try:
                return file.read(self._largest)
            except OSError:
                return None


def _is_folder(folder: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _alarm() -> None:
    """Let the system kill this process when the next step takes too long."""
    signal.setitimer(signal.ITIMER_REAL, _STEP_SECONDS)


def _give_up_rights(user: Sequence[int] | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setgid(user[1])
        os.setuid(user[0])
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Answer the query on standard input. The last line of the answer is an object."""
    query = json.load(sys.stdin)
    # Before its rights are gone: the folders above are not for the agents' user to pass.
    root = os.open(query["workspace"], _FOLDER)
    _give_up_rights(query["user"])
    left = query["most"]
    end: dict[str, Any] = {"more": False, "gave_up": None, "fault": None}
    _alarm()
    try:
        walker = Walker(root, query)
        for found in walker.run():
            if not left:
                end["more"] = True
                break
            left -= 1
            print(json.dumps(found), flush=True)  # noqa: T201 - how it answers
        end["gave_up"] = walker.gave_up
    except re.error as error:
        end["fault"] = f"the pattern is no regular expression: {error}"
    except (OSError, RecursionError, OverflowError) as error:
        end["fault"] = str(error)
    print(json.dumps(end))  # noqa: T201 - how it answers


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    main()
