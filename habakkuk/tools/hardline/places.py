"""Folders that hold what a machine or a person cannot do without."""

from __future__ import annotations

import fnmatch
import re

from habakkuk.tools.hardline.calls import is_unknown
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import DOWNLOADED, EVERY, UNKNOWN, plain

_TOP = (
    *("bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "mnt", "opt", "proc"),
    *("root", "run", "sbin", "srv", "sys", "usr", "var"),
    *("Applications", "Library", "System", "Users", "Volumes", "private"),
)
# A pattern that takes all that a folder holds.
_ALL = re.compile(r"(\.?[?]*\*+[?]*\.?\*?|\.\[!?.\]\*|\.\?\?\*|\[!?.?\]\*)")
_PATTERN = re.compile(r"[*?\[]")


def protected(target: str, scope: Scope) -> str | None:
    """Return the name of the protected folder that a path takes with it, None when none."""
    if is_unknown(target) or DOWNLOADED in target:
        return None
    # A slash at its end goes through a link.
    path = scope.resolved(f"{target}/*" if target.endswith(("/", "/.")) else target)
    if path is None:
        return None
    parts = [part for part in path.split("/") if part]
    while parts and (parts[-1] == EVERY or _ALL.fullmatch(parts[-1])):
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


def example(pattern: str, scope: Scope) -> str | None:
    """Return one path for a pattern with a sign in its last part, None when none is protected.

    Whoever loops over `/*` has each of them in turn.
    """
    if is_unknown(pattern) or DOWNLOADED in pattern:
        return None
    path = scope.resolved(pattern)
    parts = [part for part in (path or "").split("/") if part]
    if not parts or UNKNOWN in parts[-1] or not _PATTERN.search(parts[-1]):
        return None
    if len(parts) == 1:
        return _top(parts[0])
    if len(parts) == 2 and _top(parts[0]) in {"/home", "/Users"}:  # noqa: PLR2004 - /home/name
        return f"{_top(parts[0])}/somebody"
    return None
