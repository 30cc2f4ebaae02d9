"""What a shell or an interpreter is given to run: a text, a file, or its standard input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from habakkuk.tools.hardline.calls import Call, takes_value, without_version
from habakkuk.tools.hardline.values import plain

SHELLS = frozenset("sh bash dash zsh ksh ksh93 mksh ash fish rbash rksh yash csh tcsh pwsh".split())  # noqa: SIM905 - a line of names
_STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


@dataclass(frozen=True)
class _Language:
    """How an interpreter takes its program: letters whose value is code, and others with values."""

    code: str
    valued: str = ""
    names: tuple[str, ...] = ()
    # An option after which standard input is data, such as python's -m.
    module: str = ""
    # The first operand is code, as of awk.
    operand_is_code: bool = False


_LANGUAGES: dict[str, _Language] = {
    "python": _Language("c", "WXQ", (), "m"),
    "pypy": _Language("c", "WX", (), "m"),
    "ipython": _Language("c", "", (), "m"),
    "perl": _Language("eE", "IMmxCD"),
    "ruby": _Language("e", "rICEW"),
    "node": _Language("ep", "rC", ("eval", "print")),
    "nodejs": _Language("ep", "rC", ("eval", "print")),
    "bun": _Language("ep", "r", ("eval", "print")),
    "deno": _Language("", ""),
    "php": _Language("rBRE", "dcz", ("run",)),
    "lua": _Language("e", "l"),
    "luajit": _Language("e", "l"),
    "tclsh": _Language(""),
    "osascript": _Language("e", "l"),
    "Rscript": _Language("e"),
    "groovy": _Language("e"),
    "awk": _Language("e", "Fvf", ("source",), "", operand_is_code=True),
    "gawk": _Language("e", "Fvf", ("source",), "", operand_is_code=True),
    "mawk": _Language("", "Fvf", (), "", operand_is_code=True),
    "nawk": _Language("", "Fvf", (), "", operand_is_code=True),
}


@dataclass(frozen=True)
class Program:
    """A text that runs. `arguments` are `$0`, `$1` and so on of a script for a shell."""

    text: str
    arguments: list[str] | None = None


def is_interpreter(name: str) -> bool:
    """Whether a program runs what it reads in a language that is not the shell's."""
    return without_version(name) in _LANGUAGES


def shell_programs(call: Call) -> Iterator[Program]:
    """Yield what a shell would run, as far as the command says it."""
    args, letters, first = _after_options(call)
    yield from (Program(text) for path in first for text in call.content(path) or [])
    if "c" in letters:
        if args:
            yield Program(plain(args[0]), [plain(arg) for arg in args[1:]] or ["bash"])
        return
    yield from _of_file(call, args, from_stdin="s" in letters)


def _after_options(call: Call) -> tuple[list[str], str, list[str]]:
    """Return a shell's operands, the letters of its options, and the files that it reads first."""
    args, letters = list(call.args), ""
    first: list[str] = []
    while args and re.match(r"[-+].", plain(args[0])):
        text = plain(args.pop(0))
        if text == "--":
            break
        if text == "--command":
            letters += "c"
        elif text in {"--rcfile", "--init-file"}:
            first += map(plain, args[:1])
            args[:1] = []
        elif takes_value(text, "oO", ()):
            args[:1] = []
        if not text.startswith(("--", "+")):
            letters += text[1:]
    return args, letters, first


def _of_file(call: Call, args: list[str], *, from_stdin: bool) -> Iterator[Program]:
    """Yield what the first operand holds, or the standard input where there is none."""
    if from_stdin or not args or plain(args[0]) in _STDIN:
        shift = args[1:] if args and plain(args[0]) in _STDIN else args
        for text in call.stdin:
            yield Program(text, ["bash", *map(plain, shift)])
        return
    for text in call.content(plain(args[0])) or []:
        yield Program(text, [plain(arg) for arg in args])


def sourced_programs(call: Call) -> Iterator[Program]:
    """Yield what `source` reads."""
    operands = call.operands()
    if not operands:
        return
    if plain(operands[0]) in _STDIN:
        yield from (Program(text) for text in call.stdin)
    for text in call.content(plain(operands[0])) or []:
        yield Program(text)


def interpreter_programs(call: Call) -> Iterator[str]:
    """Yield the code that an interpreter would run, as far as the command says it."""
    language = _LANGUAGES[without_version(call.name)]
    args = list(call.args)
    codes: list[str] = []
    while args and plain(args[0]).startswith("-") and plain(args[0]) != "-":
        text = plain(args.pop(0))
        if text == "--":
            break
        if language.module and re.fullmatch(rf"-[a-zA-Z]*{language.module}.*", text):
            return
        codes += _code_of(language, text, args)
        if takes_value(text, language.valued, language.names):
            args[:1] = []
    if codes:
        yield from codes
    elif language.operand_is_code:
        yield from (plain(arg) for arg in args[:1])
    else:
        yield from (program.text for program in _of_file(call, args, from_stdin=False))


def _code_of(language: _Language, text: str, args: list[str]) -> Iterator[str]:
    """Yield the code in or after an option, which is then taken off."""
    if text.startswith("--"):
        name, given, value = text[2:].partition("=")
        if name in language.names:
            yield value if given else plain(args.pop(0)) if args else ""
        return
    for place, letter in enumerate(text[1:], 1):
        if letter in language.code:
            rest = text[place + 1 :]
            if rest and not rest.isalpha():
                yield rest
            elif args:
                yield plain(args.pop(0))
            return
        if letter in language.valued:
            return
