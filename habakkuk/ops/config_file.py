"""Change config.yaml as a person would: comments, order and quotes stay."""

from __future__ import annotations

import re
from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.util import load_yaml_guess_indent

# Lines that a person wrote are not broken anew.
_WIDTH = 10_000
# The first key of a section, below comments and empty lines.
_FIRST_KEY = re.compile(r"^[\w-]+:[^\n]*\n(?:[ ]*(?:#[^\n]*)?\n)*([ ]+)[^\s#-]", re.MULTILINE)


def with_provider(
    raw: bytes, name: str, entry: Mapping[str, str] | None, models: Mapping[str, str]
) -> bytes:
    """Return the valid config `raw` with a provider's entry and the models of some agents.

    Keys of an entry that is there already stay; None adds no entry.
    """
    text = raw.decode("utf-8-sig")
    yaml = _yaml(text)
    tree = yaml.load(text)
    # A file of nothing but comments has no tree that could hold them.
    kept = text if tree is None else ""
    tree = CommentedMap() if tree is None else tree
    if entry is not None:
        _section(_section(tree, "providers"), name).update(entry)
    for agent, model in models.items():
        _section(_section(tree, "agents"), agent)["model"] = model
    out = StringIO()
    yaml.dump(tree, out)
    gap = "\n" if kept and not kept.endswith("\n") else ""
    return (kept + gap + out.getvalue()).encode()


def _yaml(text: str) -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _WIDTH
    key = _FIRST_KEY.search(text)
    _, sequence, offset = load_yaml_guess_indent(text)
    yaml.indent(mapping=len(key[1]) if key else 2)
    if offset is not None:
        yaml.indent(sequence=sequence, offset=offset)
    return yaml


def _section(tree: Any, name: str) -> Any:
    """Return a section, made when it is not there or empty."""
    if tree.get(name) is None:
        tree[name] = CommentedMap()
    return tree[name]
