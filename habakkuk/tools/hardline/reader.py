"""Make a script a tree. Bounded: by its size, and by a clock inside the parser."""

from __future__ import annotations

import re
import time
from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser, Tree

from habakkuk.tools.hardline.values import TooInvolved

_PARSE_SECONDS = 2.0
# The grammar's scanner looks characters up in a table of 256 and reads beyond it for others, which
# ends the process for those from U+F0000 on. Their numbers stand for them, as a word of letters:
# none means anything to a shell. Our own marks (values.py) are 32 and take the place of the control
# characters U+0080 to U+009F, which mean as little.
_FOREIGN = re.compile("[\x80-\x9f\xff-\ufdcf\ufdf0-\U0010ffff]")
_INTO = {0xFDD0 + n: 0x80 + n for n in range(0x20)}
_BACK = {to: mark for mark, to in _INTO.items()}
# The parser takes them for blanks, a shell for nothing.
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")


@cache
def _language() -> Language:
    return Language(tree_sitter_bash.language())


def read(script: str) -> Tree:
    """Return the tree of a script; what it does not understand are ERROR nodes.

    Raises TooInvolved when that takes too long.
    """
    plain = _FOREIGN.sub(lambda found: f"\xff{ord(found[0]):x}\xff", script)
    data = plain.translate(_INTO).encode("utf-8")
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
    """Return the source of a node, with words in the place of foreign characters."""
    return decoded(node.text or b"")


def decoded(source: bytes) -> str:
    """Return a piece of the source as text, our own marks as they are."""
    return source.decode("utf-8", "replace").translate(_BACK)
