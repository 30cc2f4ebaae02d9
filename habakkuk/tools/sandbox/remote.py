"""What commands need that run elsewhere: a wrapper there, and a way to kill all that it started."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from habakkuk.core.agent_user import AGENT_VARIABLE
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds, Done, Program, run

# Kills what carries the mark in its environment, whatever session it made for itself. In bash
# alone: the place may hold few other programs. Its `read` takes a byte at a time, which with two
# hundred processes is a million calls to the system; its `mapfile` does not, but knows -d only
# since 4.4. The mark is so long that it is nowhere by chance.
_SWEEP = """
sweep() {
  for e in /proc/[0-9]*/environ; do
    [ -r "$e" ] || continue
    v=()
    { mapfile -d '' v || v=("$(<"$e")"); } 2>/dev/null <"$e"
    case "${v[*]}" in
      *"HABAKKUK_RUN=$1"*)
        q=${e#/proc/}; q=${q%/environ}
        [ "$q" = $$ ] || kill -KILL "$q" 2>/dev/null ;;
    esac
  done
}
p="${TMPDIR:-/tmp}/.habakkuk-$1.pid"
"""
# $1 the mark, $2 the folder, $3 the script. The command leads a session, and so a process group,
# of its own, whose number is written down for the one who kills it.
_WRAPPER = (
    _SWEEP
    + """
umask 077
export HABAKKUK_RUN="$1" """
    + AGENT_VARIABLE
    + """=1
cd -- "$2" || exit 127
# What this shell says itself, such as that a command was killed, is no output of that command.
exec 9>&2 2>/dev/null
run='echo $$ >"$1" && exec bash --noprofile --norc -c -- "$2"'
if command -v setsid >/dev/null 2>&1; then
  setsid bash -c "$run" habakkuk "$p" "$3" 2>&9 9>&-
else
  set -m
  bash -c "$run" habakkuk "$p" "$3" <&0 2>&9 9>&- &
  wait $!
fi
code=$?
export -n HABAKKUK_RUN
if read -r g 2>/dev/null <"$p"; then kill -KILL -- "-$g" 2>/dev/null; fi
sweep "$1"
rm -f -- "$p"
exit $code
"""
)
# $1 the mark. First politely, then for good after two seconds, as here.
_STOPPER = (
    _SWEEP
    + """
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$p" ] && break; sleep 0.1; done
if read -r g 2>/dev/null <"$p"; then
  kill -TERM -- "-$g" 2>/dev/null
  for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    kill -0 -- "-$g" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL -- "-$g" 2>/dev/null
fi
sweep "$1"
rm -f -- "$p"
"""
)
_SHELL = ("bash", "--noprofile", "--norc", "-c")
_CLIENT_SECONDS = 120.0
_MOST_OUTPUT = 10_000_000
_LAST_LINES = 3


@dataclass(frozen=True)
class Remote:
    """One command elsewhere: the argv of a shell that runs it there, and of one that kills it."""

    start: list[str]
    stop: list[str]


def remote(script: str, folder: str) -> Remote:
    """Return how a script runs in a folder there, and is killed; each has a mark of its own."""
    mark = secrets.token_hex(8)
    return Remote(
        start=[*_SHELL, _WRAPPER, "habakkuk", mark, folder, script],
        stop=[*_SHELL, _STOPPER, "habakkuk", mark],
    )


@dataclass(frozen=True)
class Client:
    """A program that speaks to the place where commands run, its environment, and for whom."""

    program: str
    variables: Mapping[str, str]
    interrupt: Interrupt

    def run(self, args: Sequence[str], seconds: float = _CLIENT_SECONDS) -> tuple[int, str, str]:
        """Run it to its end; return its code, what it printed, and the last of its errors.

        Raises ToolError when it cannot be started or does not end in time, and Interrupted.
        """
        done = self.ended(args, seconds)
        if done.late:
            raise ToolError(f"{self._name} {args[0]} did not end within {seconds:g} s")
        return done.code, _text(done.output), last_lines(_text(done.errors))

    def ended(self, args: Sequence[str], seconds: float) -> Done:
        """Run it to its end, or that of its time. Raises as `run` does, but for that."""
        program = Program([self.program, *args], self.variables)
        bounds = Bounds(seconds, _MOST_OUTPUT, _MOST_OUTPUT)
        try:
            return run(program, bounds, self.interrupt)
        except OSError as error:
            raise ToolError(f"{self._name} cannot be started: {error.strerror}") from error

    @property
    def _name(self) -> str:
        return Path(self.program).name


def last_lines(text: str) -> str:
    """Return the end of what a program complained about, in one line."""
    return "; ".join(line.strip() for line in text.strip().splitlines()[-_LAST_LINES:])


def client_variables(process: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the environment of a client: how this machine is used, and what it is told by name."""
    base = {"PATH": os.defpath, "HOME": "/"}
    wanted = ("PATH", "HOME", "LANG", "USER", "LOGNAME", "XDG_RUNTIME_DIR", "TMPDIR", *names)
    return base | {name: process[name] for name in wanted if process.get(name)}


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
