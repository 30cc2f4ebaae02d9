"""Make a script a tree. Bounded: by its size, and by a clock inside the parser."""

from __future__ import annotations

import re
import time
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Tree

from habakkuk.tools.hardline.values import TooInvolved

_PARSE_SECONDS = 2.0
# The parser takes them for blanks, a shell for nothing.
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def read(script: str) -> Tree:
    """Return the tree of a script; what it does not understand are ERROR nodes.

    Raises TooInvolved when that takes too long.
    """
    data = script.encode("utf-8", "replace")
    until = time.monotonic() + _PARSE_SECONDS
    parser = Parser(_language())

    def at(offset: int, _point: object) -> bytes:
        return data[offset : offset + 4096]

    def stop(_offset: int, _failed: bool) -> bool:  # noqa: FBT001 - the parser's form
        return time.monotonic() > until

    try:
        tree = parser.parse(at, progress_callback=stop)
    except ValueError as error:
        raise TooInvolved("the command takes too long to read") from error
    return tree


def continued(script: str) -> str:
    """Return a script with its continued lines as one."""
    return _CONTINUED.sub(r"\1", script)


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode("utf-8", "replace")
