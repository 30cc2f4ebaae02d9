"""What a shell knows at a point of a script: variables, functions, where it is."""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from habakkuk.tools.hardline.values import HOME, SPLIT, UNKNOWN, capped, known, plain

_LIST = ("@", "*")
_MOST_LINKS = 8


@dataclass
class Scope:
    """One shell. `fresh`: a variable that nobody set is empty; else it may be anything.

    `maybe` counts the conditions and loops around: what is set there may be set or not. `inputs`
    are what its descriptors give, by number, `outputs` the files that others lead to; one that is
    not there is as the shell was started. `files` are those that the script wrote, with what they
    hold, `links` those that it made, with where they lead: by their whole paths, as far as known.
    """

    folder: str | None
    fresh: bool = True
    variables: dict[str, list[str]] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    arguments: list[list[str]] | None = None
    maybe: int = 0
    inputs: dict[str, list[str]] = field(default_factory=dict)
    outputs: dict[str, list[str]] = field(default_factory=dict)
    files: dict[str, list[str]] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def child(self) -> Scope:
        """Return a shell that starts as this one is, and changes nothing of it."""
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            aliases=dict(self.aliases),
            inputs=dict(self.inputs),
            outputs=dict(self.outputs),
        )

    def piped(self, *, into: bool, out: bool) -> Scope:
        """Return a shell as `child` does, whose input or output is a pipe."""
        made = self.child()
        if into:
            made.inputs.pop("0", None)
        if out:
            made.outputs.pop("1", None)
        return made

    def absorb(self, inner: Scope, but: Collection[str]) -> None:
        """Take over what a command set that had variables of its own before it, but for those."""
        self.folder, self.fresh = inner.folder, inner.fresh
        self.arguments, self.functions = inner.arguments, inner.functions
        self.aliases = inner.aliases
        given = {name: value for name, value in inner.variables.items() if name not in but}
        self.variables.update(given)

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
        there = self.links.get(plain(there or paths[0] if sure else ""), there)
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
                found = self._followed(posixpath.normpath(path))
                return found if found.startswith("/") else None
            path = f"{self.folder}/{path}"
        return self._followed(posixpath.normpath("/" + path.lstrip("/")))

    def link(self, name: str, target: str) -> None:
        """Note a link that the script makes."""
        at, to = self.place(name), self.place(target)
        if at != to:
            self.links[at] = to

    def place(self, path: str) -> str:
        """Return what a file is known by: its whole path, or as it is written, if that is all."""
        return plain(self.resolved(path) or posixpath.normpath(path))

    def _followed(self, path: str) -> str:
        """Return a path with the links put in that it goes through; its last name may be one."""
        for _ in range(_MOST_LINKS):
            through = next((at for at in self.links if plain(path).startswith(f"{at}/")), None)
            if through is None:
                return path
            # Both are of the same length: a mark stands for one character.
            path = posixpath.normpath(f"{self.links[through]}/{path[len(through) + 1 :]}")
        return path

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
