"""Redirects: what a shell's descriptors give, where they lead, and what files hold by then."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tree_sitter import Node

from habakkuk.tools.hardline.calls import is_unknown
from habakkuk.tools.hardline.fetching import is_near
from habakkuk.tools.hardline.judging import judge_write
from habakkuk.tools.hardline.reader import text_of
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.values import DOWNLOADED, SPLIT, UNKNOWN, known, plain
from habakkuk.tools.hardline.words import Words
from habakkuk.tools.hardline.wrappers import split_fields

REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_READS = frozenset({"<", "<&", "<>"})
_OWN = re.compile(r"/(?:dev|proc/self)/fd/(\d+)|/dev/stdin")
_NETWORK = re.compile(r"/dev/(?:tcp|udp)/([^/]*)/.*", re.DOTALL)
_NUMBER = re.compile(r"\d+-?")
_NAMED = re.compile(r"\{([A-Za-z_]\w*)\}")
_FIRST_NAMED = 10
_NO_WORDS = frozenset({"file_descriptor", "ERROR"})
# Of what a file may hold by now, and how long that is: of more nothing is known.
_MOST_TEXTS, _LONGEST = 16, 100_000


class Redirects:
    """Follows redirects in the scope of the command that has them."""

    def __init__(self, words: Words) -> None:
        """Take what reads words."""
        self._words = words

    def open(self, node: Node, scope: Scope, stdin: Sequence[str]) -> list[str]:
        """Follow one redirect; return the words behind it that are arguments. Raises Refused."""
        if node.type == "heredoc_redirect":
            return self._heredoc(node, scope, stdin)
        number = _descriptor(node, scope)
        words = [one for one in node.named_children if one.type not in _NO_WORDS]
        read = [self._words.read(one, scope) for one in words]
        extra = [part for values in read[1:] for part in split_fields(values)]
        signs = _signs(node)
        if "<<<" in signs:
            texts = [plain(value.replace(SPLIT, " ")) + "\n" for value in read[0]] if read else []
            scope.inputs[number or "0"] = texts
            return extra
        first = split_fields(read[0]) if read else []
        if signs & _READS:
            texts = [text for one in first for text in self._given(one, scope, stdin, signs)]
            scope.inputs[number or "0"] = texts or [UNKNOWN]
        if first and not signs & {"<", "<&"}:
            self._lead(number or "1", first, scope, signs)
        return extra

    def content(self, path: str, scope: Scope, stdin: Sequence[str]) -> list[str] | None:
        """Return what a file holds that the script made, or that stands for a descriptor."""
        made = self._words.content(path)
        if made is not None:
            return made
        own = _OWN.fullmatch(path)
        if own is not None:
            return _descriptor_gives(own[1] or "0", scope, stdin)
        far = _NETWORK.fullmatch(path)
        if far is not None:
            return [UNKNOWN] if is_near(far[1]) else [DOWNLOADED]
        return scope.files.get(scope.place(path))

    def keep(self, paths: Sequence[str], texts: Sequence[str], scope: Scope) -> None:
        """Note what is written to files, behind what they hold.

        Of a download only that it is something: a file is there to be looked at before it is run.
        """
        for path in paths:
            if not known(path) or plain(path).startswith("/dev/"):
                continue
            place = scope.place(path)
            before = scope.files.get(place) or [""]
            made = [old + new for old in before for new in texts][: _MOST_TEXTS + 1]
            sure = len(made) <= _MOST_TEXTS and all(known(text) for text in made)
            short = sum(map(len, made)) <= _LONGEST
            scope.files[place] = made if made and sure and short else [UNKNOWN]

    def _given(
        self, target: str, scope: Scope, stdin: Sequence[str], signs: set[str]
    ) -> Sequence[str]:
        """Return what is read from a target: a file, or the descriptor of that number."""
        if "<&" not in signs:
            return self.content(plain(target), scope, stdin) or [UNKNOWN]
        if is_unknown(target) or not _NUMBER.fullmatch(target):
            # Any of those that are open.
            return [UNKNOWN, *(text for texts in scope.inputs.values() for text in texts)]
        return _descriptor_gives(target.rstrip("-"), scope, stdin) or [UNKNOWN]

    def _lead(self, number: str, targets: list[str], scope: Scope, signs: set[str]) -> None:
        """Let a descriptor lead to files, or where another one leads."""
        for target in targets:
            judge_write(target, scope)
        if ">&" in signs and all(_NUMBER.fullmatch(target) for target in targets):
            numbers = [target.rstrip("-") for target in targets]
            scope.outputs[number] = [path for one in numbers for path in scope.outputs.get(one, [])]
            return
        scope.outputs[number] = targets
        for target in targets:
            if signs & {">", ">|", "&>"} and not scope.maybe:
                scope.files.pop(scope.place(target), None)

    def _heredoc(self, node: Node, scope: Scope, stdin: Sequence[str]) -> list[str]:
        start = next((one for one in node.children if one.type == "heredoc_start"), None)
        body = next((one for one in node.children if one.type == "heredoc_body"), None)
        extra = [
            part
            for child in node.children_by_field_name("argument")
            for part in split_fields(self._words.read(child, scope))
        ]
        texts = [""]
        if body is not None:
            as_it_is = start is not None and re.search(r"['\"\\]", text_of(start))
            texts = [text_of(body)] if as_it_is else self._words.text(body, scope)
        scope.inputs[_descriptor(node, scope) or "0"] = [plain(text) for text in texts]
        for child in node.named_children:
            if child.type in REDIRECTS:
                extra += self.open(child, scope, stdin)
        return extra


def _signs(node: Node) -> set[str]:
    """Return a redirect's sign; of two the parser knows only a part, and the rest is an error."""
    signs = {child.type for child in node.children if not child.is_named}
    for error in (child for child in node.children if child.type == "ERROR"):
        signs.add({">": "<>", "<<": "<<<"}.get(text_of(error), ""))
    return signs - {"<"} if signs & {"<>", "<<<"} else signs


def _descriptor(node: Node, scope: Scope) -> str:
    """Return the number before a redirect's sign, empty when there is none.

    Of `{name}` a number that the variable has from then on.
    """
    found = next((one for one in node.children if one.type == "file_descriptor"), None)
    if found is not None:
        return text_of(found)
    before = node.prev_sibling
    last = before.children[-1] if before is not None and before.children else None
    if last is None or last.end_byte != node.start_byte:
        return ""
    named = _NAMED.fullmatch(text_of(last))
    if named is None:
        return ""
    scope.variables[named[1]] = [str(_FIRST_NAMED + len(scope.inputs) + len(scope.outputs))]
    return scope.variables[named[1]][0]


def _descriptor_gives(number: str, scope: Scope, stdin: Sequence[str]) -> list[str] | None:
    return scope.inputs.get(number, list(stdin) if number == "0" else None)
