"""What a shell knows at a point of a script: variables, functions, where it is."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from habakkuk.tools.hardline.values import HOME, SPLIT, UNKNOWN, capped, known

_LIST = ("@", "*")


@dataclass
class Scope:
    """One shell. `fresh`: a variable that nobody set is empty; else it may be anything.

    `maybe` counts the conditions and loops around: what is set there may be set or not.
    """

    folder: str | None
    fresh: bool = True
    variables: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    arguments: list[list[str]] | None = None
    maybe: int = 0

    def child(self) -> Scope:
        """Return a shell that starts as this one is, and changes nothing of it."""
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            aliases=dict(self.aliases),
        )

    def set(self, name: str, values: list[str]) -> None:
        """Give a variable a value; where that is not certain, one more that it may have."""
        before = self.variables.get(name, []) if self.maybe else []
        self.variables[name] = capped([*before, *values])

    def values(self, name: str) -> list[str]:
        """Return what a variable may be."""
        if name in self.variables:
            return self.variables[name]
        if name.isdigit() or name in _LIST:
            return self._argument(name)
        if name == "HOME":
            return [HOME]
        if name == "IFS":
            return [" \t\n"]
        if name == "PWD":
            return [self.folder or UNKNOWN]
        if not name.isidentifier() or name in _BY_SHELL or name.startswith("LC_"):
            return [UNKNOWN]
        return [""] if self.fresh else [UNKNOWN]

    def enter(self, paths: list[str]) -> None:
        """Go to a folder, if that is certain and known."""
        sure = len(paths) == 1 and known(paths[0])
        there = self.resolved(paths[0]) if sure else None
        self.folder = there if not self.maybe or there == self.folder else self._riskier(there)

    def resolved(self, path: str) -> str | None:
        """Return a path from the root on, None when it starts where nobody knows.

        Quoted characters stay marked, so that `"*"` is no pattern; `path` is one field.
        """
        if path == "-":
            return None
        if path.startswith("~"):
            name, _, rest = path[1:].partition("/")
            path = f"{HOME if not name else '/home/' + name}/{rest}"
        elif not path.startswith("/"):
            if self.folder is None:
                return None
            path = f"{self.folder}/{path}"
        return posixpath.normpath("/" + path.lstrip("/"))

    def _riskier(self, there: str | None) -> str | None:
        """Return the one of two folders that is nearer to the root: it may be either."""
        either = [path for path in (self.folder, there) if path is not None]
        return min(either, key=lambda path: path.count("/") if path != "/" else 0, default=None)

    def _argument(self, name: str) -> list[str]:
        if self.arguments is None:
            return [UNKNOWN] if name != "0" else ["bash"]
        if name in _LIST:
            rest = self.arguments[1:]
            others = [value for values in rest for value in values[1:]]
            return capped([SPLIT.join(values[0] for values in rest), *others])
        number = int(name) if len(name) < 4 else len(self.arguments)  # noqa: PLR2004 - digits
        return self.arguments[number] if number < len(self.arguments) else [""]


# What bash or the agent's environment sets without being asked.
_BY_SHELL = frozenset(
    """
    PATH LANG LANGUAGE TERM TZ TMPDIR OLDPWD UID EUID GROUPS RANDOM SRANDOM SECONDS LINENO PPID
    BASHPID BASH BASH_VERSION BASH_SOURCE BASH_COMMAND BASH_SUBSHELL EPOCHSECONDS EPOCHREALTIME
    HOSTNAME HOSTTYPE MACHTYPE OSTYPE SHLVL SHELL SHELLOPTS BASHOPTS PIPESTATUS FUNCNAME
    REPLY OPTARG OPTIND OPTERR PS1 PS2 PS4 COLUMNS LINES HABAKKUK_AGENT_COMMAND DIRSTACK
    MAPFILE COPROC COPROC_PID USER LOGNAME
    """.split()  # noqa: SIM905 - a line of names
)
