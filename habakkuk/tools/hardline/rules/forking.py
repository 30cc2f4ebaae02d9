"""Fork bombs: what starts itself more than once without end."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.reader import text_of

_SENTENCE = "start processes without end (a fork bomb)"
_FOREVER = re.compile(r"\s*(true|:|\[\s*1\s*\]|test\s+1|\(\(\s*1\s*\)\)|/bin/true|sleep\s+0)\s*")
_PAUSES = frozenset("wait sleep read break exit return inotifywait".split())  # noqa: SIM905 - a line of names


def judge(call: Call) -> str | None:
    """Look at one call: none is a fork bomb by itself."""
    return _SENTENCE if call.name == "forkbomb" else None


def judge_tree(root: Node) -> str | None:
    """Look for functions that come back to themselves twice, and for loops without end."""
    calls: dict[str, list[tuple[str, bool]]] = {}
    for node in _all(root):
        if node.type == "function_definition":
            name = node.child_by_field_name("name")
            body = node.child_by_field_name("body")
            if name is not None and body is not None:
                calls[text_of(name)] = list(_called(body))
        elif node.type in {"while_statement", "c_style_for_statement"} and _floods(node):
            return _SENTENCE
    return _SENTENCE if any(_explodes(name, calls) for name in calls) else None


def _explodes(name: str, calls: dict[str, list[tuple[str, bool]]]) -> bool:
    """Whether a function leads back to itself by two ways at least, one of them at once."""
    back = [(called, at_once) for called, at_once in calls[name] if _leads(called, name, calls)]
    return len(back) > 1 and any(at_once for _, at_once in back)


def _leads(start: str, end: str, calls: dict[str, list[tuple[str, bool]]]) -> bool:
    seen: set[str] = set()
    left = [start]
    while left:
        here = left.pop()
        if here == end:
            return True
        if here not in seen:
            seen.add(here)
            left += [called for called, _ in calls.get(here, [])]
    return False


def _called(node: Node) -> Iterator[tuple[str, bool]]:
    """Yield the names of programs below a node, with whether others run meanwhile."""
    stack = [(node, False)]
    while stack:
        here, at_once = stack.pop()
        if here.type == "command_name":
            yield text_of(here), at_once
        for child in here.children:
            following = child.next_sibling
            behind = following is not None and following.type == "&"
            stack.append((child, at_once or behind or here.type == "pipeline"))


def _floods(node: Node) -> bool:
    """Whether a loop that has no end puts processes in the background and waits for nothing."""
    body = node.child_by_field_name("body")
    if body is None or _pauses(body):
        return False
    condition = node.child_by_field_name("condition")
    if node.type == "while_statement":
        first = node.children[0].type
        text = text_of(condition) if condition is not None else ""
        endless = _FOREVER.fullmatch(text) is not None if first == "while" else text == "false"
    else:
        endless = condition is None
    return endless and any(one.type == "&" for one in _all(body))


def _pauses(body: Node) -> bool:
    return any(name in _PAUSES for name, at_once in _called(body) if not at_once)


def _all(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(node.children)
