"""Commands that a program is told to run beside its own work: in its options, in a variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from habakkuk.tools.hardline.calls import Call
from habakkuk.tools.hardline.values import UNKNOWN, plain

# Variables whose value some program gives to a shell.
_COMMANDS = frozenset(
    """
    PROMPT_COMMAND PAGER MANPAGER SYSTEMD_PAGER EDITOR VISUAL FCEDIT BROWSER LESSOPEN LESSCLOSE
    GIT_SSH GIT_SSH_COMMAND GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_EXTERNAL_DIFF GIT_ASKPASS
    GIT_PROXY_COMMAND SSH_ASKPASS SUDO_ASKPASS RSYNC_RSH
    """.split()  # noqa: SIM905 - a line of names
)
# What a shell reads before anything else, and the texts that it substitutes as it writes them.
_READ_FIRST = frozenset({"BASH_ENV", "ENV"})
_PROMPTS = frozenset({"PS0", "PS1", "PS2", "PS4"})
_SUBSTITUTES = re.compile(r"\$\(|`")
# Keys of git's configuration that hold commands, by their last part.
_GIT_COMMANDS = frozenset(
    """
    pager editor sshcommand fsmonitor askpass gitproxy helper external command cmd textconv driver
    clean smudge process program uploadpack receivepack packobjectshook difffilter sendmailcmd
    tocmd cccmd headercmd defaultkeycommand httpd
    """.split()  # noqa: SIM905 - a line of names
)
_GIT_NAMES = (
    *("upload-pack", "receive-pack", "exec", "extcmd", "open-files-in-pager"),
    *("tree-filter", "index-filter", "env-filter", "msg-filter", "parent-filter", "commit-filter"),
    *("tag-name-filter", "setup"),
)
_TAR_NAMES = (
    *("to-command", "use-compress-program", "info-script", "new-volume-script", "rmt-command"),
    "rsh-command",
)
_TAR_VALUED = "bCFfgHIKLNTVX"
_SSH_OPTION = re.compile(
    r"\s*(?:proxycommand|localcommand|remotecommand|knownhostscommand)\s*[=\s]\s*(.*)", re.I | re.S
)
# As programs that read commands of their own call a shell: `!rm`, `.shell rm`, `\! rm`.
_ESCAPE = re.compile(r"[+:\s]*(?:silent!?\s+)?(?:\\?!|\.?(?:shell|system)\s)(.*)", re.DOTALL)
_SED = re.compile(r"(?:^|[;{}\n])\s*(?:\d+|\$|/[^/\n]*/)?\s*e\s+([^\n]+)")
_CRON = re.compile(r"\s*(?:@\w+\s|(?:[\d*/,A-Za-z-]+\s+){5})(.*)")
_MAKE_VARIABLE = re.compile(r"(?<!\$)\$[({][^(){}]*[)}]")
_MAKE_SHELL = re.compile(r"\$\(shell ([^()]*)\)")


def of_variable(name: str, values: Iterable[str]) -> Iterator[str]:
    """Yield what is run by whoever finds a variable with one of these values."""
    for value in values:
        if name in _READ_FIRST and value:
            yield f". {value}"
        elif name in _PROMPTS and _SUBSTITUTES.search(value):
            yield f'echo "{value}"'
        elif name in _COMMANDS or name.startswith("GIT_CONFIG_VALUE_"):
            yield value.lstrip("|-!")
        elif name == "TAR_OPTIONS":
            yield f"tar {value}"
        elif name == "GIT_CONFIG_PARAMETERS":
            yield f"git -c {value}".replace("' '", "' -c '")


def of_call(call: Call) -> Iterator[str]:
    """Yield what a program is told to run beside its own work, as scripts for a shell."""
    known = _PROGRAMS.get(call.name)
    return known(call) if known is not None else iter(())


def _given(call: Call, letters: str = "", names: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the values of options: after or behind a letter, after a name or one cut short."""
    words = call.words
    for word, after in zip(words, [*words[1:], ""], strict=False):
        if word.startswith("--"):
            name, has, value = word[2:].partition("=")
            if name and any(one.startswith(name) for one in names):
                yield value if has else after
        elif word.startswith("-"):
            found = next((place for place, one in enumerate(word) if one in letters), 0)
            if found:
                yield word[found + 1 :] or after


def _options(letters: str, *names: str) -> Callable[[Call], Iterator[str]]:
    return lambda call: _given(call, letters, names)


def _git(call: Call) -> Iterator[str]:
    words = call.words
    for text in _given(call, "c", ("config",)):
        yield from _git_setting(*_halves(text))
    for text in _given(call, "", ("config-env",)):
        key, variable = _halves(text)
        for value in call.scope.values(variable):
            yield from _git_setting(key, value)
    yield from _given(call, "xuO", _GIT_NAMES)
    yield from (word[len("ext::") :] for word in words if word.startswith("ext::"))
    if "config" in words:
        rest = words[words.index("config") + 1 :]
        for key, value in pairwise(rest):
            yield from _git_setting(key, value)
    for first, second in (("submodule", "foreach"), ("bisect", "run")):
        if first in words and second in words:
            rest = words[words.index(second) + 1 :]
            yield " ".join(word for word in rest if not word.startswith("-") or first == "bisect")


def _git_setting(key: str, value: str) -> Iterator[str]:
    """Yield what git runs for a setting; an alias without `!` is words for git itself."""
    parts = key.lower().split(".")
    if value.startswith("!"):
        yield value[1:]
    elif parts[0] == "alias":
        yield f"git {value}"
    elif len(parts) > 1 and (parts[0] == "pager" or parts[-1] in _GIT_COMMANDS):
        yield value


def _tar(call: Call) -> Iterator[str]:
    yield from _given(call, "IF", _TAR_NAMES)
    for action in _given(call, "", ("checkpoint-action",)):
        if action.startswith("exec="):
            yield action.removeprefix("exec=")
    first = next(iter(call.words), "-")
    if not first.startswith("-"):
        # As of old: letters, then their values in order.
        yield from call.words[1 : 1 + sum(letter in _TAR_VALUED for letter in first)]


def _ssh(call: Call) -> Iterator[str]:
    for option in _given(call, "o"):
        found = _SSH_OPTION.fullmatch(option)
        if found is not None:
            yield found[1]


def _rsync(call: Call) -> Iterator[str]:
    yield from _given(call, "e", ("rsh", "rsync-path"))


def _escapes(call: Call) -> Iterator[str]:
    lines = (line for text in call.stdin for line in text.split("\n"))
    for word in (*call.words, *lines):
        found = _ESCAPE.fullmatch(word)
        if found is not None:
            yield found[1]


def _sed(call: Call) -> Iterator[str]:
    for word in call.words:
        yield from (found[1] for found in _SED.finditer(word))


def _crontab(call: Call) -> Iterator[str]:
    """Yield what is to run at its time, which is as bad then as now."""
    files = [text for word in call.words for text in call.content(word) or []]
    for text in (*call.stdin, *files):
        yield from (found[1] for found in map(_CRON.fullmatch, text.split("\n")) if found)


def _make(call: Call) -> Iterator[str]:
    """Yield the recipes of a Makefile that the script made, or gives as it calls make."""
    texts = list(_given(call, "", ("eval",)))
    for name in [*_given(call, "f", ("file", "makefile")), "Makefile", "makefile", "GNUmakefile"]:
        texts += call.stdin if name == "-" else call.content(name) or []
    for text in texts:
        yield from _MAKE_SHELL.findall(text)
        shell = _MAKE_VARIABLE.sub(UNKNOWN, text).replace("$$", "$")
        yield from (line.lstrip("\t@-+ ") for line in shell.split("\n") if line.startswith("\t"))


def _tmux(call: Call) -> Iterator[str]:
    operands = [plain(one) for one in call.operands("LSfcstnxyF")]
    yield " ".join(operands[1:])
    yield from (word for word in operands if " " in word)


def _halves(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


_PROGRAMS: dict[str, Callable[[Call], Iterator[str]]] = {
    "git": _git,
    **dict.fromkeys(("tar", "gtar", "bsdtar"), _tar),
    **dict.fromkeys(("ssh", "scp", "sftp", "sshfs"), _ssh),
    "rsync": _rsync,
    "sort": _options("", "compress-program"),
    "split": _options("", "filter"),
    "zip": _options("", "unzip-command"),
    "man": _options("PH", "pager", "html"),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn"), _options("c", "call")),
    **dict.fromkeys(("nix-shell", "nix"), _options("", "run", "command")),
    **dict.fromkeys(("sed", "gsed"), _sed),
    "crontab": _crontab,
    **dict.fromkeys(("make", "gmake"), _make),
    "tmux": _tmux,
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "ed", "gdb", "sqlite3", "psql", "mysql"), _escapes),
}
