"""What a word becomes: quotes taken off, variables put in, substitutions followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from enum import Enum

from tree_sitter import Node

from habakkuk.tools.hardline.expansions import change, changed
from habakkuk.tools.hardline.reader import decoded, text_of
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import (
    UNKNOWN,
    capped,
    clean,
    cut,
    joined,
    quoted,
    split_of,
)

# Follows a substitution's commands and returns what they print.
Follow = Callable[[Node, Scope], list[str]]
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\\n])')
_ANSI = re.compile(
    r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|c.|.)", re.S
)
_ANSI_NAMED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
}
_FALLBACK = (":-", "-", ":=", "=")
_INSTEAD = (":+", "+")
_CUTS = ("%", "%%", "#", "##")
_LIST = ("@", "*")
_INDIRECT = re.compile(r"\$\{!\w+\}")
_HOLES = ("variable_name", "special_variable_name", "subscript")


class Within(Enum):
    """Where a piece stands: in a word, or in double quotes, where blanks and patterns are text."""

    WORD = "word"
    QUOTES = "quotes"


class Words:
    """Reads words in a scope; `follow` follows what they substitute."""

    def __init__(self, follow: Follow) -> None:
        """Take what follows commands."""
        self._follow = follow
        self._kinds: dict[str, Callable[[Node, Scope, Within], list[str]]] = {
            "word": self._word,
            "number": self._word,
            "variable_name": self._word,
            "file_descriptor": self._word,
            "extglob_pattern": self._word,
            "regex": self._word,
            "heredoc_content": self._literal,
            "string_content": self._literal,
            "raw_string": self._raw,
            "ansi_c_string": self._ansi,
            "translated_string": self._string,
            "string": self._string,
            "simple_expansion": self._variable,
            "expansion": self._expansion,
            "command_substitution": self._substitution,
            "process_substitution": self._process,
        }
        self._made: dict[str, list[str]] = {}
        self._fed: dict[str, tuple[Node, Scope]] = {}

    def read(self, node: Node, scope: Scope, within: Within = Within.WORD) -> list[str]:
        """Return what a word may become, as values; never empty."""
        kind = self._kinds.get(node.type)
        if kind is not None:
            return kind(node, scope, within)
        if node.type in {"concatenation", "command_name", "brace_expression", "array", "string"}:
            return self._together(node, scope)
        # Numbers that are worked out, subscripts and what else there is; it may hold commands.
        for child in node.named_children:
            self.read(child, scope, within)
        return [UNKNOWN]

    def text(self, node: Node, scope: Scope) -> list[str]:
        """Return what the body of a here-document may be."""
        return self._between(node, scope, Within.QUOTES)

    def _together(self, node: Node, scope: Scope) -> list[str]:
        if node.type == "array":
            parts = [value for child in node.named_children for value in self.read(child, scope)]
            return capped(parts) or [""]
        made = [""]
        for child in node.children:
            part = self.read(child, scope) if child.is_named else [text_of(child)]
            made = joined(made, part)
        return made

    def _word(self, node: Node, _scope: Scope, within: Within) -> list[str]:
        text = text_of(node)
        if within is Within.QUOTES:
            return [quoted(text)]
        made = _ESCAPED.sub(lambda found: quoted(found[1]) if found[1] != "\n" else "", text)
        return [made]

    def _literal(self, node: Node, _scope: Scope, _within: Within) -> list[str]:
        return [quoted(_unescaped(text_of(node)))]

    def _raw(self, node: Node, _scope: Scope, _within: Within) -> list[str]:
        return [quoted(text_of(node)[1:-1])]

    def _ansi(self, node: Node, _scope: Scope, _within: Within) -> list[str]:
        return [quoted(_ANSI.sub(_ansi_character, text_of(node)[2:-1]))]

    def _string(self, node: Node, scope: Scope, _within: Within) -> list[str]:
        return self._between(node, scope, Within.QUOTES, inner=True)

    def _between(
        self, node: Node, scope: Scope, within: Within, *, inner: bool = False
    ) -> list[str]:
        """Put together what stands in a node: its children, and the text between them."""
        source = node.text or b""
        first, last = (source.index(b'"') + 1, len(source) - 1) if inner else (0, len(source))
        made, at = [""], first
        for child in node.named_children:
            start, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
            if end <= first:
                continue
            made = joined(made, [_gap(source[at:start])])
            made = joined(made, self.read(child, scope, within))
            at = end
        return joined(made, [_gap(source[at:last])])

    def _variable(self, node: Node, scope: Scope, within: Within) -> list[str]:
        name = text_of(node)[1:]
        return _inserted(scope.values(name), name, within, scope)

    def _expansion(self, node: Node, scope: Scope, within: Within) -> list[str]:
        """Return what `${...}` may be; of the forms that cut or change, that it is anything."""
        names = [child for child in node.named_children if child.type in _HOLES]
        signs = [child.type for child in node.children if not child.is_named]
        rest = [child for child in node.named_children if child not in names]
        others = [value for child in rest for value in self.read(child, scope, within)]
        name = text_of(names[0]) if names else ""
        sign = signs[1] if len(signs) > 1 else ""
        values = scope.values(name.partition("[")[0])
        if len(signs) == 2 or sign == "[":  # noqa: PLR2004 - the two braces
            made = values
        elif sign in _FALLBACK:
            made = [*(value for value in values if value), *(others or [""])]
        elif sign in _INSTEAD:
            made = ["", *others]
        elif sign in _CUTS:
            made = [cut(value, sign, other) for value in values for other in others or [""]]
        elif sign in {":?", "?"}:
            # Without a value the shell goes no further.
            made = [value for value in values if value] or [UNKNOWN]
        else:
            made = _changed(text_of(node), values, scope)
        return _inserted(capped(made), name, within, scope)

    def _substitution(self, node: Node, scope: Scope, within: Within) -> list[str]:
        made = [value.rstrip("\n") for value in self._follow(node, scope)]
        return _inserted(made, "", within, scope)

    def _process(self, node: Node, scope: Scope, _within: Within) -> list[str]:
        """Return the name of a file that holds what the commands print, or feeds them."""
        name = f"/dev/fd/{node.start_byte}+{len(self._made)}"
        if node.children[0].type == ">(":
            self._made[name] = [UNKNOWN]
            self._fed[name] = (node, scope.child())
            return [name]
        self._made[name] = self._follow(node, scope)
        return [name]

    def fed(self, path: str) -> tuple[Node, Scope] | None:
        """Return the commands that read what is written to a file, None for another file."""
        return self._fed.get(path)

    def content(self, path: str) -> list[str] | None:
        """Return what a file of a process substitution holds, None for another file."""
        return self._made.get(path)


def _inserted(values: Iterable[str], name: str, within: Within, scope: Scope) -> list[str]:
    """Return values as they stand in a word: quoted whole, or cut where IFS says."""
    if within is Within.QUOTES and name.partition("[")[0] not in _LIST:
        return [quoted(value) for value in values] or [""]
    signs = scope.values("IFS")
    return capped(split_of(value, each) for value in values for each in signs) or [""]


def _changed(source: str, values: list[str], scope: Scope) -> list[str]:
    """Return what a form that changes a value, or names another variable by it, may be."""
    if _INDIRECT.fullmatch(source):
        return [value for name in values for value in scope.values(name)]
    made = change(source)
    return [changed(value, made) if value else "" for value in values]


def _unescaped(text: str) -> str:
    return _ESCAPED_IN_QUOTES.sub(lambda found: "" if found[1] == "\n" else found[1], text)


def _gap(source: bytes) -> str:
    return quoted(_unescaped(decoded(source)))


def _ansi_character(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU":
        return _character(int(code[1:] or "0", 16)) if len(code) > 1 else code
    if code[0] in "01234567":
        return _character(int(code, 8) & 0xFF)
    if code[0] == "c" and len(code) > 1:
        return _character(ord(code[1].upper()) ^ 0x40)
    return _ANSI_NAMED.get(code, code)


def _character(number: int) -> str:
    """Return a character; none that is a mark here, nor one that does not exist."""
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:  # noqa: PLR2004 - Unicode's own
        return ""
    return clean(chr(number))
