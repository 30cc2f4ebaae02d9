"""Removing everything of `/`, of a home folder or of a top-level system folder."""

from __future__ import annotations

import fnmatch
import re

from habakkuk.tools.hardline.calls import Call, is_unknown
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import DOWNLOADED, UNKNOWN, plain
from habakkuk.tools.hardline.wrappers import find_starts, narrowed

_TOP = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "mnt", "opt", "proc"),
    *("root", "run", "sbin", "srv", "sys", "usr", "var"),
    *("Applications", "Library", "System", "Users", "Volumes", "private"),
)
# A pattern that takes all that a folder holds.
_ALL = re.compile(r"(\.?[?]*\*+[?]*\.?\*?|\.\[!?.\]\*|\.\?\?\*|\[!?.?\]\*)")
_PATTERN = re.compile(r"[*?\[]")
_SENTENCE = "remove everything in {what}"


def judge(call: Call) -> str | None:
    """Look at what removes whole folders."""
    found = _targets(call)
    for target in found:
        what = protected(target, call.scope)
        if what is not None:
            return _SENTENCE.format(what=what)
    return None


def _targets(call: Call) -> list[str]:
    if call.name in {"rm", "grm", "srm", "wipe"}:
        return call.operands() if call.has("rR", "recursive") else []
    if is_unknown(call.name) and call.has("rR", "recursive") and call.has("f", "force"):
        # Nobody knows what it runs; with these arguments it looks like rm.
        return call.operands()
    if call.name in {"find", "fd", "bfs"}:
        deletes = "-delete" in call.words and not narrowed(call)
        return find_starts(call) if deletes else []
    if call.name == "rsync":
        deletes = any(re.match(r"--del(ete.*)?$", word) for word in call.words)
        return call.operands("e")[-1:] if deletes else []
    if call.name == "mv":
        operands = call.operands("tS")
        return operands[:-1] if operands and plain(operands[-1]) == "/dev/null" else []
    if call.name in {"rimraf", "trash", "del-cli"}:
        return call.operands()
    return []


def protected(target: str, scope: Scope) -> str | None:
    """Return the name of the protected folder that a path takes with it, None when none."""
    if is_unknown(target) or DOWNLOADED in target:
        return None
    path = scope.resolved(target)
    if path is None:
        return None
    parts = [part for part in path.split("/") if part]
    while parts and _ALL.fullmatch(parts[-1]):
        parts.pop()
    if not parts:
        return "/"
    if len(parts) == 1:
        return _top(parts[0])
    if len(parts) == 2 and _top(parts[0]) in {"/home", "/Users"}:  # noqa: PLR2004 - /home/name
        return None if UNKNOWN in parts[1] else "a home folder"
    return None


def _top(name: str) -> str | None:
    """Return the top-level folder that a name, or a pattern, is."""
    shown = plain(name)
    if shown in _TOP:
        return f"/{shown}"
    if UNKNOWN in name or not _PATTERN.search(name):
        return None
    return next((f"/{top}" for top in _TOP if fnmatch.fnmatchcase(top, name)), None)
