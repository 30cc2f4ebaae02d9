"""Heads of tables: two lines make those with bars below them a table.

https://github.github.com/gfm/#tables-extension-
"""

from __future__ import annotations

import re
from itertools import pairwise

# Further to the right it would be code, unless it stands in a quote. What takes blanks gives none
# back (`*+`): a line of nothing else would be tried in all ways to share them out.
_LEAD = r"(?: {0,3}+>[ >]*+| {0,3}+)"
_CELL = r"[ \t]*+:?-++:?[ \t]*+"
_RULE = re.compile(rf"{_LEAD}\|?{_CELL}(?:\|{_CELL})*+\|?[ \t]*+")
_ROW = re.compile(rf"{_LEAD}[^\s>].*")


def open_head(before: str, after: str) -> str:
    """Return the head of a table that goes on from one text into the next, "" without one."""
    if not before.endswith("\n") and not after.startswith("\n"):
        # A row is cut: what follows is no row.
        return ""
    following = after if before.endswith("\n") else after.removeprefix("\n")
    if not _is_row(following.partition("\n")[0]) or before.endswith("\n\n"):
        return ""
    lines = before.removesuffix("\n").split("\n")[::-1]
    for rule, title in pairwise(lines):
        if not _is_row(rule):
            return ""
        if _RULE.fullmatch(rule) and _is_row(title):
            return f"{title}\n{rule}\n"
    return ""


def before_bare_head(part: str, after: str) -> str:
    """Return a part without the head at its end, whose table would begin in the next part only."""
    head = open_head(part, after).rstrip("\n")
    shorter = part.rstrip("\n").removesuffix(head) if head else part
    return shorter if shorter.strip() else part


def _is_row(line: str) -> bool:
    return "|" in line and _ROW.fullmatch(line) is not None
