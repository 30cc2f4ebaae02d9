"""Ask every rule. Each raises Refused with what would be done."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from types import ModuleType

from tree_sitter import Node

from habakkuk.tools.hardline import rules
from habakkuk.tools.hardline.calls import Call, Refused
from habakkuk.tools.hardline.scope import Scope


def judge_call(call: Call) -> None:
    """Ask about one call of a program."""
    for rule in _rules():
        found = rule.judge(call)
        if found is not None:
            raise Refused(found)


def judge_write(target: str, scope: Scope) -> None:
    """Ask about a file that a redirect writes."""
    for rule in _rules():
        judge = getattr(rule, "judge_write", None)
        found = judge(target, scope) if judge is not None else None
        if found is not None:
            raise Refused(found)


def judge_tree(root: Node) -> None:
    """Ask about a script as a whole."""
    for rule in _rules():
        judge = getattr(rule, "judge_tree", None)
        found = judge(root) if judge is not None else None
        if found is not None:
            raise Refused(found)


@cache
def _rules() -> list[ModuleType]:
    """Return the modules of all rules."""
    names = [module.name for module in pkgutil.iter_modules(rules.__path__)]
    return [importlib.import_module(f"{rules.__name__}.{name}") for name in names]
