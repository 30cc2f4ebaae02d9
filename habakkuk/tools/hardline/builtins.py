"""What the shell's own commands change: where it is, its variables, arguments and aliases."""

from __future__ import annotations

import re
from collections.abc import Callable

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.values import DOWNLOADED, UNKNOWN, capped, known, plain

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_MOST_LINES = 64


def _enter(call: Call) -> None:
    operands = call.operands()
    if operands or call.name == "cd":
        call.scope.enter(operands[:1] or ["~"])


def _leave(call: Call) -> None:
    call.scope.folder = None


def _set(call: Call) -> None:
    words = call.words
    if any(re.fullmatch(r"-[a-z]*u[a-z]*|nounset", word) for word in words):
        # The shell goes no further at a variable that nobody set.
        call.scope.fresh = False
    operands = call.operands("o")
    if operands or "--" in words:
        call.scope.arguments = [["bash"], *([plain(one)] for one in operands)]


def _shift(call: Call) -> None:
    arguments = call.scope.arguments
    if arguments is not None and not call.scope.maybe:
        count = int(call.words[0]) if call.words and call.words[0].isdecimal() else 1
        call.scope.arguments = [*arguments[:1], *arguments[1 + count :]]
    else:
        call.scope.arguments = None


def _read(call: Call) -> None:
    """Give each name what its place in a line holds, of all lines that there are."""
    names = [plain(one) for one in call.operands("adeinNptu")] or ["REPLY"]
    lines = [
        line
        for text in call.stdin
        for line in (text.split("\n")[:_MOST_LINES] if known(text) else [_marked(text)])
        if line
    ]
    for place, name in enumerate(names):
        last = place == len(names) - 1
        values = []
        for line in lines:
            parts = line.split(maxsplit=place if last else -1)
            known_part = parts[place] if place < len(parts) else ""
            values.append(known_part if known(line) else line)
        call.scope.variables[name] = capped(values) or [UNKNOWN]


def _marked(text: str) -> str:
    return DOWNLOADED if DOWNLOADED in text else UNKNOWN


def _fill(call: Call) -> None:
    """`mapfile`, `getopts` and `printf -v` set a variable to anything."""
    values = [_marked(text) for text in call.stdin] if call.name != "getopts" else [UNKNOWN]
    for word in call.words:
        if word.isidentifier():
            call.scope.variables[word] = values


def _printf(call: Call) -> None:
    words = call.words
    if words[:1] == ["-v"] and len(words) > 1:
        call.scope.variables[words[1]] = [UNKNOWN]


def _declare(call: Call) -> None:
    for word in call.words:
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None:
            call.scope.set(found[1], [found[2]])
        elif not known(word):
            call.scope.fresh = False


def _unset(call: Call) -> None:
    for word in call.words:
        call.scope.functions.pop(word, None)
        if word.isidentifier() and not call.scope.maybe:
            call.scope.variables[word] = [""]


def _alias(call: Call) -> None:
    for word in call.words:
        name, given, text = word.partition("=")
        if given:
            call.scope.aliases[name] = text


def _source(call: Call) -> None:
    """Know less from here on: the file may set any variable."""
    call.scope.fresh = False


BUILTINS: dict[str, Callable[[Call], None]] = {
    "cd": _enter,
    "chdir": _enter,
    "pushd": _enter,
    "popd": _leave,
    "set": _set,
    "shift": _shift,
    "read": _read,
    "mapfile": _fill,
    "readarray": _fill,
    "getopts": _fill,
    "let": _fill,
    "printf": _printf,
    "export": _declare,
    "declare": _declare,
    "typeset": _declare,
    "local": _declare,
    "readonly": _declare,
    "unset": _unset,
    "alias": _alias,
    "source": _source,
    ".": _source,
}
