"""What programs print that only pass on, unpack or fetch: the rest prints anything."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.fetching import fetches
from habakkuk.tools.hardline.finding import find_starts, narrowed
from habakkuk.tools.hardline.places import example
from habakkuk.tools.hardline.values import DOWNLOADED, EVERY, UNKNOWN, capped, known, plain

_PASSES = frozenset(
    "cat tac tee head tail sort uniq grep egrep fgrep nl pv sponge less more".split()  # noqa: SIM905 - a line of names
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "e": "\x1b", "0": "\n"}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|0?[0-7]{1,3}|[ntre\\0])")
_CONVERSION = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([sbqdiouxXcfeEgG%])")


def printed(call: Call) -> list[str]:
    """Return what a program may print, as plain texts with marks."""
    if fetches(call):
        return [DOWNLOADED]
    special = _SPECIAL.get(call.name)
    if special is not None:
        return capped(special(call))
    if call.name in _PASSES:
        return capped(_contents(call))
    # It may change what it was given, but where that came from stays.
    given = [*call.stdin, *call.args, *_contents(call)]
    return [DOWNLOADED] if any(DOWNLOADED in text for text in given) else [UNKNOWN]


def _contents(call: Call) -> list[str]:
    """Return what the files hold that are named, else the standard input."""
    if call.name in {"tee", "sponge"}:
        return call.stdin
    found: list[str] = []
    named = False
    for word in call.words:
        content = call.content(word)
        if content is not None:
            found += content
            named = True
    operands = [word for word in call.operands() if plain(word) != "-"]
    if call.name in {"cat", "tac"} and operands and not named:
        return [UNKNOWN]
    return found if named else call.stdin


def _echo(call: Call) -> list[str]:
    words = _opened(call)
    unescape = False
    while words and re.fullmatch(r"-[neE]+", words[0]):
        unescape = unescape or "e" in words.pop(0)
    text = " ".join(words)
    return [_unescaped(text) + "\n"] if unescape else [text + "\n"]


def _opened(call: Call) -> list[str]:
    """Return the arguments, of a pattern for folders that count one of them."""
    return [example(arg, call.scope) or plain(arg) for arg in call.args]


def _printf(call: Call) -> list[str]:
    return [""] if call.words[:1] == ["-v"] else [formatted(_opened(call))]


def formatted(words: list[str]) -> str:
    """Return what printf makes of its form and the values behind it."""
    words = words[1:] if words[:1] == ["--"] else words
    if not words:
        return ""
    form, values = _unescaped(words[0]), words[1:]
    wanted = len([one for one in _CONVERSION.findall(form) if one != "%"])
    rounds = max(1, -(-len(values) // wanted)) if wanted else 1
    left = iter(values)

    def put(found: re.Match[str]) -> str:
        if found[1] == "%":
            return "%"
        value = next(left, "")
        return _unescaped(value) if found[1] == "b" else value

    return "".join(_CONVERSION.sub(put, form) for _ in range(min(rounds, 64)))


def _base64(call: Call) -> list[str]:
    if not call.has("dD", "decode"):
        return [UNKNOWN]
    return [_decoded(text) for text in _contents(call)]


def _decoded(text: str) -> str:
    if not known(text):
        return DOWNLOADED if DOWNLOADED in text else UNKNOWN
    letters = re.sub(r"[^A-Za-z0-9+/]", "", text)
    try:
        data = base64.b64decode(letters + "=" * (-len(letters) % 4))
    except (binascii.Error, ValueError):
        return UNKNOWN
    return data.decode("utf-8", "replace")


def _xxd(call: Call) -> list[str]:
    if not call.has("r", "revert"):
        return [UNKNOWN]
    made = []
    for text in _contents(call):
        digits = re.sub(r"[^0-9a-fA-F]", "", text)
        even = digits[: len(digits) // 2 * 2]
        made.append(bytes.fromhex(even).decode("utf-8", "replace") if known(text) else UNKNOWN)
    return made


def _find(call: Call) -> list[str]:
    """Return all that is below where find begins, and these folders, when nothing narrows it."""
    starts = [] if narrowed(call) else [plain(start) for start in find_starts(call)]
    within = any(word in {"-mindepth", "-type", "-delete"} for word in call.words)
    themselves = [] if within else [f"{start}\n" for start in starts]
    return [*themselves, *(f"{start}/{EVERY}\n" for start in starts), UNKNOWN]


def _ls(call: Call) -> list[str]:
    """Return one name of what is in a folder that counts, for all of them."""
    itself = call.has("d", "directory")
    made = []
    for operand in call.operands("IwT") or ["."]:
        found = example(operand if itself else f"{operand}/*", call.scope)
        if found is not None:
            made.append(found if itself else found.rpartition("/")[2])
    return [*(name + "\n" for name in made), UNKNOWN]


def _rev(call: Call) -> list[str]:
    return ["\n".join(line[::-1] for line in text.split("\n")) for text in _contents(call)]


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1]
        if code[0] == "x":
            return chr(int(code[1:], 16))
        if code[0].isdigit() and code != "0":
            return chr(int(code, 8) & 0xFF)
        return _ESCAPES[code]

    return _ESCAPE.sub(character, text)


_SPECIAL: dict[str, Callable[[Call], list[str]]] = {
    "echo": _echo,
    "printf": _printf,
    "print": _echo,
    "base64": _base64,
    "xxd": _xxd,
    "rev": _rev,
    "find": _find,
    "ls": _ls,
    "pwd": lambda call: [call.scope.folder or UNKNOWN],
}
