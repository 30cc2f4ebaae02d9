"""What the shell's own commands change: where it is, its variables, arguments and aliases."""

from __future__ import annotations

import re
from collections.abc import Callable

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.outputs import formatted
from habakkuk.tools.hardline.values import DOWNLOADED, SPLIT, UNKNOWN, capped, known, plain

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


def _input(call: Call) -> list[str]:
    """Return what is read: of the standard input, or of the descriptor that -u names."""
    words = call.words
    for word, after in zip(words, [*words[1:], ""], strict=False):
        found = re.fullmatch(r"-[a-zA-Z]*u(\d*)", word)
        if found is not None:
            return call.scope.inputs.get(found[1] or after, [UNKNOWN])
    return call.stdin


def _read(call: Call) -> None:
    """Give each name what its place in a line holds, of all lines that there are."""
    names = [plain(one) for one in call.operands("deinNptu")] or ["REPLY"]
    signs = call.scope.values("IFS")[-1]
    lines = [
        line
        for text in _input(call)
        for line in (text.split("\n")[:_MOST_LINES] if known(text) else [_marked(text)])
        if line
    ]
    if call.has("a"):
        parted = [SPLIT.join(_parted(line, signs, -1)) if known(line) else line for line in lines]
        call.scope.variables[names[0]] = capped(parted) or [UNKNOWN]
        return
    for place, name in enumerate(names):
        last = place == len(names) - 1
        values = []
        for line in lines:
            parts = _parted(line, signs, place if last else -1)
            known_part = parts[place] if place < len(parts) else ""
            values.append(known_part if known(line) else line)
        call.scope.variables[name] = capped(values) or [UNKNOWN]


def _parted(line: str, signs: str, most: int) -> list[str]:
    """Return the parts of a line as IFS ends them, `most` of them and the rest; -1 is all."""
    if not known(signs) or not signs.strip():
        return line.split(maxsplit=most) if " " in signs or not known(signs) else [line]
    return re.split(f"[{re.escape(signs)}]", line, maxsplit=max(most, 0)) if most else [line]


def _marked(text: str) -> str:
    return DOWNLOADED if DOWNLOADED in text else UNKNOWN


def _fill(call: Call) -> None:
    """Give a list the lines that are read; `getopts` and `let` set a variable to anything."""
    reads = call.name in {"mapfile", "readarray"}
    texts = _input(call) if reads else [UNKNOWN]
    values = [SPLIT.join(text.split("\n")) if known(text) else _marked(text) for text in texts]
    for word in call.words:
        if word.isidentifier():
            call.scope.variables[word] = values


def _printf(call: Call) -> None:
    words = call.words
    if words[:1] == ["-v"] and len(words) > 1:
        call.scope.set(words[1], [formatted(words[2:])])


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


def _link(call: Call) -> None:
    """Note a symbolic link: what it leads to is reached by its name from now on."""
    if not call.has("s", "symbolic"):
        return
    operands = [plain(one) for one in call.operands("tS")]
    for target in operands[:-1] or operands:
        name = target.rstrip("/").rpartition("/")[2]
        if len(operands) > 1:
            call.scope.link(operands[-1], target)
        if name:
            call.scope.link(f"{operands[-1]}/{name}" if len(operands) > 1 else name, target)


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
    "ln": _link,
    "source": _source,
    ".": _source,
}
