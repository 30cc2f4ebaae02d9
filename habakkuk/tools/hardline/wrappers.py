"""What a program runs in its turn: `sudo`, `env`, `xargs` and the like, taken off."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field

from habakkuk.tools.hardline.calls import Call, base_name, takes_value
from habakkuk.tools.hardline.finding import executed, filled
from habakkuk.tools.hardline.values import UNKNOWN, fields, known, plain, quoted

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_NUMBER = re.compile(r"-\d+")
_HOLE = re.compile(r"\$\{(\w+)\}")
# An option of one letter, maybe behind others that take no value.
_LETTER = re.compile(r"-[0-9rtxpo]*[a-zA-Z]")
# The loader runs the program that it is given.
_LOADER = re.compile(r"ld(-linux|-musl|64)?[\w.-]*\.so[\w.]*")


@dataclass
class Inner:
    """What is run: programs with arguments, scripts with theirs, and variables set for both."""

    calls: list[list[str]] = field(default_factory=list)
    scripts: list[tuple[str, list[str]]] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Prefix:
    """A program whose arguments are options, some operands, and then a command.

    `valued` are the letters of options that take a value, `names` such long ones.
    """

    valued: str = ""
    names: tuple[str, ...] = ()
    operands: int = 0


_PREFIXES: dict[str, _Prefix] = {
    "sudo": _Prefix(
        "ugphCDRrtTUa",
        ("user", "group", "prompt", "host", "chdir", "chroot", "role", "type", "close-from"),
    ),
    "doas": _Prefix("uCa"),
    "env": _Prefix("uC", ("unset", "chdir")),
    "nohup": _Prefix(),
    "setsid": _Prefix(),
    "nice": _Prefix("n", ("adjustment",)),
    "ionice": _Prefix("cnpPu", ("class", "classdata")),
    "timeout": _Prefix("ks", ("kill-after", "signal"), 1),
    "stdbuf": _Prefix("ioe", ("input", "output", "error")),
    "time": _Prefix("fo", ("format", "output")),
    "chrt": _Prefix("TPD", (), 1),
    "taskset": _Prefix("", (), 1),
    "strace": _Prefix("abeoOpPsSuUIXE"),
    "ltrace": _Prefix("abeoOpPsSuUIXEnlxFwA"),
    "chroot": _Prefix("", ("userspec", "groups"), 1),
    "unshare": _Prefix("SGRw", ("root", "wd", "map-user", "map-group", "setuid", "setgid")),
    "nsenter": _Prefix("tSG", ("target", "setuid", "setgid")),
    "setpriv": _Prefix("", ("reuid", "regid", "groups", "inh-caps", "bounding-set")),
    "systemd-run": _Prefix("pEuMHtd", ("property", "setenv", "unit", "machine", "host", "slice")),
    "systemd-inhibit": _Prefix("", ("what", "who", "why", "mode")),
    "command": _Prefix(),
    "builtin": _Prefix(),
    "exec": _Prefix("a"),
    "pkexec": _Prefix("", ("user",)),
    "runuser": _Prefix("ugGsw", ("user", "group", "shell")),
    "gosu": _Prefix("", (), 1),
    "su-exec": _Prefix("", (), 1),
    "faketime": _Prefix("fp", (), 1),
    "fakeroot": _Prefix("lsib", ("lib", "faked")),
    "cgexec": _Prefix("g"),
    "numactl": _Prefix("imNCpl"),
    "prlimit": _Prefix("p"),
    "firejail": _Prefix(),
    "proxychains": _Prefix("f"),
    "proxychains4": _Prefix("f"),
    "torsocks": _Prefix("uPap"),
    "unbuffer": _Prefix(),
    "rlwrap": _Prefix("abCDefFgHlmMopPqsStwz"),
    "dbus-run-session": _Prefix(),
    "xvfb-run": _Prefix("efnpsw"),
    "caffeinate": _Prefix("tw"),
    "screen": _Prefix("cehpSstT"),
    "poetry": _Prefix("C", ("directory", "project"), 1),
    "pipenv": _Prefix("", (), 1),
    "bundle": _Prefix("", (), 1),
    "uv": _Prefix("", ("with", "python", "project", "directory", "env-file"), 1),
    "tini": _Prefix("pe"),
    "dumb-init": _Prefix("r"),
    "flock": _Prefix("wE", ("timeout", "wait", "conflict-exit-code"), 1),
    "entr": _Prefix(),
    "coproc": _Prefix(),
    "then": _Prefix(),
    "do": _Prefix(),
    "noglob": _Prefix(),
    "nocorrect": _Prefix(),
}


def unwrap(call: Call) -> Inner | None:
    """Return what a wrapper runs, None for a program that is none."""
    special = _SPECIAL.get(call.name)
    if special is not None:
        return special(call)
    loads = _LOADER.fullmatch(call.name) is not None
    prefix = _Prefix() if loads else _PREFIXES.get(call.name)
    return _after(call, prefix) if prefix is not None else None


def _after(call: Call, prefix: _Prefix) -> Inner:
    """Return the command after options, assignments and operands."""
    inner, args, left = Inner(), list(call.args), prefix.operands
    while args:
        text = plain(args[0])
        found = _ASSIGNMENT.fullmatch(text)
        if text == "--":
            args.pop(0)
        elif text.startswith("-") and text != "-":
            args.pop(0)
            if takes_value(text, prefix.valued, prefix.names) and not _NUMBER.fullmatch(text):
                args[:1] = []
        elif text == "-" and call.name in {"env", "su"}:
            args.pop(0)
        elif found is not None:
            inner.variables[found[1]] = found[2]
            args.pop(0)
        elif left:
            left -= 1
            args.pop(0)
        else:
            break
    inner.calls = [args] if args else []
    return inner


def _only_asks(call: Call) -> Inner:
    """`command -v rm` runs nothing."""
    if call.words and re.fullmatch(r"-p?[vV]p?", call.words[0]):
        return Inner()
    return _after(call, _Prefix())


def _env(call: Call) -> Inner:
    """`env -S 'text'` takes a text apart into words of its own."""
    args: list[str] = []
    left = list(call.args)
    while left:
        text = plain(left[0])
        found = re.fullmatch(r"-([a-zA-Z0]*)S(.*)|--split-string=?(.*)", text, re.DOTALL)
        if found is None:
            args.append(left.pop(0))
            continue
        left.pop(0)
        given = found[2] or found[3]
        given = given if given else plain(left.pop(0)) if left else ""
        # A blank as env writes it, and the variables that it puts in itself.
        given = re.sub(r"\\[_tnrfv]", " ", given.partition("\\c")[0])
        given = _HOLE.sub(lambda hole: call.scope.values(hole[1])[0], given)
        left = [*(quoted(word) for word in _split(given)), *left]
    return _after(Call("env", args, call.stdin, call.scope, call.content), _PREFIXES["env"])


def _xargs(call: Call) -> Inner:
    """Return the command with what stands in the standard input behind it, or in its places."""
    names = ("arg-file", "delimiter", "max-args", "max-procs", "max-lines", "max-chars", "replace")
    args, hole, given = list(call.args), None, call.stdin
    while args and plain(args[0]).startswith("-"):
        text = plain(args.pop(0))
        if text == "--":
            break
        wanted = takes_value(text, "adEILnPs", names)
        joined = text.partition("=")[2] if text.startswith("--") else _LETTER.sub("", text, 1)
        value = plain(args.pop(0)) if wanted and args else joined
        if re.match(r"-[a-zA-Z0]*[Ii]|--replace", text):
            hole = value or "{}"
        elif re.match(r"-[0rtxpo]*a|--arg-file", text):
            given = call.content(value) or [UNKNOWN]
    whole = hole is not None or call.has("0d", "null", "delimiter")
    words = [word for text in given for word in _items(text, whole=whole)]
    items = [quoted(word) for word in words] or [UNKNOWN]
    if hole is None:
        return Inner(calls=[[*(args or ["echo"]), *items]])
    return Inner(calls=[[filled(arg, word, hole) for arg in args] for word in items[:32]])


def _parallel(call: Call) -> Inner:
    """GNU parallel gives its command to a shell, with each of the values after `:::`."""
    words = call.words
    stop = next((place for place, word in enumerate(words) if word.startswith(":::")), len(words))
    inner = _after(
        Call("parallel", [quoted(word) for word in words[:stop]], [], call.scope, call.content),
        _Prefix("jNnIaSP", ("jobs", "max-args", "arg-file", "sshlogin")),
    )
    values = words[stop + 1 :] or [
        word for text in call.stdin for word in (_split(text) if known(text) else [text])
    ]
    command = " ".join(plain(word) for words in inner.calls for word in words)
    for value in values[:32] or [""]:
        text = command.replace("{}", value) if "{}" in command else f"{command} {value}"
        inner.scripts.append((text.strip(), []))
    inner.calls = []
    return inner


def _find(call: Call) -> Inner:
    """Return what find's -exec and the like run."""
    return Inner(calls=executed(call))


def _items(text: str, *, whole: bool) -> list[str]:
    """Return what xargs takes from a text: words, or `whole` lines."""
    if not known(text):
        return [text]
    return [line for line in text.split("\n") if line] if whole else _split(text)


def _applet(call: Call) -> Inner:
    """`busybox rm` is rm."""
    args = list(call.args)
    return Inner(calls=[args] if args and not plain(args[0]).startswith("-") else [])


def _su(call: Call) -> Inner:
    """`su -c 'text'`, wherever the option stands."""
    inner = Inner()
    words = call.words
    for place, word in enumerate(words):
        if re.fullmatch(r"-[a-z]*c|--(session-)?command", word) and place + 1 < len(words):
            inner.scripts.append((words[place + 1], []))
        elif word.startswith(("--command=", "--session-command=")):
            inner.scripts.append((word.partition("=")[2], []))
    if not inner.scripts and call.name == "runuser":
        return _after(call, _PREFIXES["runuser"])
    return inner


def _joined(valued: str, operands: int) -> Callable[[Call], Inner]:
    """Return what gives all its words together to a shell, as ssh and watch do."""

    def unwrapped(call: Call) -> Inner:
        inner = _after(call, _Prefix(valued, ("interval",), operands))
        inner.scripts = [(" ".join(map(plain, args)), []) for args in inner.calls]
        inner.calls = []
        return inner

    return unwrapped


def _with_script(call: Call) -> Inner:
    """`script -c 'text'`, `flock file -c 'text'`."""
    inner = _su(call)
    if inner.scripts or call.name != "flock":
        return inner
    return _after(call, _PREFIXES["flock"])


def _from_stdin(call: Call) -> Inner:
    """`at` and `batch` run what they read."""
    return Inner(scripts=[(text, []) for text in call.stdin])


def _trap(call: Call) -> Inner:
    operands = call.operands()
    return Inner(scripts=[(plain(operands[0]), [])] if len(operands) > 1 else [])


def _coproc(call: Call) -> Inner:
    """Take the first word for a name that the process gets, and for the program."""
    words = call.words
    group = [call.args[words.index("{") + 1 :]] if "{" in words else []
    return Inner(calls=[call.args, call.args[1:], *group])


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


_SPECIAL: dict[str, Callable[[Call], Inner]] = {
    "command": _only_asks,
    "env": _env,
    "xargs": _xargs,
    "parallel": _parallel,
    "find": _find,
    "fd": _find,
    "busybox": _applet,
    "toybox": _applet,
    "su": _su,
    "runuser": _su,
    "script": _with_script,
    "flock": _with_script,
    "watch": _joined("n", 0),
    "ssh": _joined("bcDEeFIiJLlmOopQRSWw", 1),
    "at": _from_stdin,
    "batch": _from_stdin,
    "trap": _trap,
    "coproc": _coproc,
}


def split_fields(values: list[str]) -> list[str]:
    """Return the fields of all alternatives of a word."""
    return [part for value in values for part in fields(value)]


def program(argv: list[str]) -> str:
    """Return the name of the program that an argv runs."""
    return base_name(argv[0]) if argv else ""
