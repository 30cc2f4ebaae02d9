"""Where find looks, whether it takes all that it finds, and what it runs with that."""

from __future__ import annotations

import re

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.values import EVERY, UNKNOWN, plain, quoted

_RUNS = re.compile(r"-(exec|execdir|ok|okdir)")
_FD_RUNS = re.compile(r"-[xX]|--exec(-batch)?")
_TEST = re.compile(r"-[a-z]{2,}\w*")
_BROAD = re.compile(
    r"-(type|mindepth|maxdepth|depth|xdev|mount|delete|exec|execdir|ok|okdir|print0?|f?ls|prune|or"
    r"|and|not|true|follow|daystart|noleaf|regextype|warn|nowarn|ignore_readdir_race)"
)
# Tests whose value may fit everything.
_NAMES = frozenset("-name -iname -path -ipath -wholename -iwholename -regex -iregex".split())  # noqa: SIM905 - a line of names
_ANY = re.compile(r"[.?/^$]*\*[.*?/^$]*")


def executed(call: Call) -> list[list[str]]:
    """Return the commands that find runs, with what it finds in the place of `{}`."""
    if call.name == "fd":
        return _executed_by_fd(call)
    words, found = call.words, []
    starts = [UNKNOWN] if narrowed(call) else [f"{start}/{EVERY}" for start in find_starts(call)]
    for place in [n for n, word in enumerate(words) if _RUNS.fullmatch(word)]:
        ends = (n for n in range(place + 1, len(words)) if words[n] in {";", "+"})
        command = call.args[place + 1 : next(ends, len(words))]
        found += [[filled(arg, start) for arg in command] for start in starts]
    return found


def _executed_by_fd(call: Call) -> list[list[str]]:
    """As for find: the pattern comes first, the command has no end, and may lack the braces."""
    words = call.words
    place = next((n for n, word in enumerate(words) if _FD_RUNS.fullmatch(word)), len(words))
    operands = [arg for arg in call.args[:place] if not plain(arg).startswith("-")]
    options = [word for word in words[:place] if word.startswith("-")]
    all_of_it = not operands or _ANY.fullmatch(f"{plain(operands[0])}*") is not None
    narrow = not all_of_it or any(re.match(r"-[eEgSdo]|--(ext|glob|size)", one) for one in options)
    starts = [UNKNOWN] if narrow else [f"{one}/{EVERY}" for one in operands[1:] or ["."]]
    command = call.args[place + 1 :]
    if command and not any("{}" in plain(arg) for arg in command):
        command = [*command, "{}"]
    return [[filled(arg, start) for arg in command] for start in starts] if command else []


def filled(arg: str, word: str, hole: str = "{}") -> str:
    """Return an argument with a word in the place of the hole."""
    return arg.replace(quoted(hole), word).replace(hole, word)


def find_starts(call: Call) -> list[str]:
    """Return the folders that find begins in, with a slash where it goes through links."""
    starts: list[str] = []
    through = ""
    for arg in call.args:
        text = plain(arg)
        if text in {"-H", "-L", "-P"} or re.fullmatch(r"-(D|O\d).*", text):
            through = "/" if text in {"-H", "-L"} else through
            continue
        if text.startswith("-") or text in {"(", ")", "!", ","}:
            break
        starts.append(arg)
    return [f"{start}{through}" for start in starts or ["."]]


def narrowed(call: Call) -> bool:
    """Whether find is told to take some of what it finds only; all but some is not that."""
    words = _outside_exec(call.words)
    for place, word in enumerate(words):
        if not _TEST.fullmatch(word) or _BROAD.fullmatch(word):
            continue
        value, then = [*words[place + 1 :], "", ""][:2]
        fits_all = word in _NAMES and _ANY.fullmatch(value) is not None
        if not fits_all and then != "-prune" and words[place - 1] not in {"!", "-not"}:
            return True
    return False


def _outside_exec(words: list[str]) -> list[str]:
    outside: list[str] = []
    inside = False
    for word in words:
        if _RUNS.fullmatch(word):
            inside = True
        elif word in {";", "+"}:
            inside = False
        elif not inside:
            outside.append(word)
    return outside
