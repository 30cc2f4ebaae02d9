"""Follow one call of a program: judge it, then what it starts in its turn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from tree_sitter import Node

from habakkuk.tools.hardline.asides import of_call, of_variable
from habakkuk.tools.hardline.builtins import BUILTINS
from habakkuk.tools.hardline.calls import Call, Refused
from habakkuk.tools.hardline.judging import judge_call
from habakkuk.tools.hardline.meter import Meter
from habakkuk.tools.hardline.outputs import printed
from habakkuk.tools.hardline.redirects import Redirects
from habakkuk.tools.hardline.rules.code import scripts_in
from habakkuk.tools.hardline.scope import Scope
from habakkuk.tools.hardline.shells import (
    SHELLS,
    Program,
    interpreter_programs,
    is_interpreter,
    shell_programs,
    sourced_programs,
)
from habakkuk.tools.hardline.values import DOWNLOADED, UNKNOWN, capped, plain
from habakkuk.tools.hardline.wrappers import program, unwrap

RUNS_DOWNLOAD = "run what it downloads from another machine, unseen"
_SOURCES = frozenset({"source", "."})
# Write what they read to the files that they name.
_COPIES = frozenset({"tee", "sponge"})


class Follower(Protocol):
    """What follows scripts: each returns what is printed."""

    def script(self, text: str, scope: Scope, stdin: Sequence[str] = ...) -> list[str]:
        """Follow a script."""
        ...

    def run(self, node: Node, scope: Scope, stdin: list[str]) -> list[str]:
        """Follow a part of a script."""
        ...

    def feed(self, paths: Sequence[str], texts: list[str]) -> None:
        """Follow the commands that read what is written to these files."""
        ...


class Programs:
    """Follows calls."""

    def __init__(self, meter: Meter, redirects: Redirects, follower: Follower) -> None:
        """Take what knows the files that the script made, and what follows scripts."""
        self._meter = meter
        self._redirects = redirects
        self._follower = follower

    def call(self, argv: list[str], scope: Scope, stdin: list[str]) -> list[str]:
        """Judge one call and follow what it runs; return what it prints."""
        self._meter.tick()
        while argv and not argv[0]:
            argv = argv[1:]
        if not argv:
            return []
        if DOWNLOADED in argv[0]:
            raise Refused(RUNS_DOWNLOAD)
        with self._meter.deeper():
            content = partial(self._redirects.content, scope=scope, stdin=stdin)
            path = scope.links.get(scope.place(argv[0]), argv[0]) if "/" in argv[0] else argv[0]
            call = Call(program([path]), argv[1:], stdin, scope, content)
            written = content(plain(argv[0])) if "/" in argv[0] else None
            if written is not None:
                # A file that the script made is the program.
                programs = [Program(text, [plain(argv[0]), *call.words]) for text in written]
                return self._programs(programs, scope.child(), stdin)
            return self._followed(call)

    def _followed(self, call: Call) -> list[str]:
        if call.name in call.scope.functions:
            return self._function_called(call)
        if call.name in call.scope.aliases:
            text = " ".join([call.scope.aliases.pop(call.name), *map(_requoted, call.words)])
            return self._follower.script(text, call.scope, call.stdin)
        judge_call(call)
        self._follower.feed(call.args, call.stdin)
        if call.name in _COPIES:
            self._redirects.keep(call.operands(), call.stdin, call.scope)
        builtin = BUILTINS.get(call.name)
        if builtin is not None:
            builtin(call)
        return self._what_it_runs(call)

    def _what_it_runs(self, call: Call) -> list[str]:
        """Follow the programs that a call starts; return what it prints."""
        for text in of_call(call):
            self._follower.script(text, call.scope.child())
        if call.name == "eval":
            return self._follower.script(" ".join(call.words), call.scope, call.stdin)
        if call.name in SHELLS or call.name in _SOURCES:
            return self._shell(call)
        if is_interpreter(call.name):
            return self._interpreter(call)
        return self._wrapped(call)

    def _interpreter(self, call: Call) -> list[str]:
        for code in interpreter_programs(call):
            if DOWNLOADED in code:
                raise Refused(RUNS_DOWNLOAD)
            for script in scripts_in(code):
                self._follower.script(script, call.scope.child())
        return printed(call)

    def _wrapped(self, call: Call) -> list[str]:
        inner = unwrap(call)
        if inner is None:
            return printed(call)
        same = call.name in {"command", "builtin"} and not inner.variables
        scope = call.scope if same else call.scope.child()
        for name, value in inner.variables.items():
            scope.set(name, [value])
            for text in of_variable(name, [value]):
                self._follower.script(text, scope.child())
        said = [text for one in inner.calls for text in self.call(one, scope, call.stdin)]
        for text, arguments in inner.scripts:
            said += self._programs([Program(text, arguments or None)], scope, call.stdin)
        if not inner.calls and not inner.scripts:
            said = printed(call)
        if call.name == "coproc":
            # Read by a descriptor whose number nobody knows.
            call.scope.inputs["coproc"] = said
        return capped(said)

    def _shell(self, call: Call) -> list[str]:
        if call.name in _SOURCES:
            return self._programs(list(sourced_programs(call)), call.scope, call.stdin)
        scope = call.scope.child()
        scope.functions, scope.aliases = {}, {}
        return self._programs(list(shell_programs(call)), scope, call.stdin)

    def _programs(self, programs: list[Program], scope: Scope, stdin: list[str]) -> list[str]:
        said: list[str] = []
        for one in programs:
            if one.arguments is not None:
                scope.arguments = [[text] for text in one.arguments]
            said += self._follower.script(one.text, scope, stdin)
        return capped(said) or [UNKNOWN]

    def _function_called(self, call: Call) -> list[str]:
        body = call.scope.functions[call.name]
        inner = call.scope.child()
        # Once: a function that calls itself says nothing new.
        del inner.functions[call.name]
        inner.arguments = [[call.name], *([word] for word in call.words)]
        said = self._follower.run(body, inner, call.stdin)
        # What it sets is set for all; `local` is not told apart.
        call.scope.variables.update(inner.variables)
        call.scope.folder = inner.folder
        return said


def _requoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
