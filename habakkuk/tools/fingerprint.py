"""What exactly was approved: the tool, its arguments, the folder and the scripts it would run.

An approval is bound to this. When anything of it changes between the question and the run, the
approval is for something else.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from pathlib import Path
from typing import Any

import orjson

# Words that run what follows them: approving one "for the session" would approve anything.
_WRAPPERS = re.compile(
    r"""
    ash | bash | csh | dash | fish | ksh | mksh | rbash | sh | tcsh | yash | zsh | busybox | toybox
  | (python | pypy | perl | ruby | node | nodejs | php | lua | luajit | tclsh | wish)[\d.]*
  | awk | gawk | mawk | nawk | bun | deno | erl | groovy | guile | irb | java | jshell | julia
  | osascript | pwsh | powershell | py | racket | Rscript | sbcl | scala | swift
  | apptainer | at | batch | chroot | chrt | command | coproc | docker | doas | entr | env | eval
  | exec | expect | fakeroot | find | flatpak | flock | gdb | git | ionice | kubectl | lldb | ltrace
  | make | nice | nix | nohup | npm | npx | nsenter | numactl | parallel | pip[\d.]* | pipx | pkexec
  | pnpm | podman | poetry | proxychains | rsync | run0 | runuser | screen | script | sed | setarch
  | setpriv | setsid | snap | source | ssh | sshpass | ssh-agent | start-stop-daemon | stdbuf
  | strace | su | sudo | systemd-run | taskset | tar | tee | time | timeout | tmux | torsocks | uv
  | uvx | unshare | unbuffer | vi | vim | watch | xargs | xvfb-run | yarn | \. | \[
    """,
    re.VERBOSE,
)
# Anything that a shell would act on: what is run is then not the words that were shown.
_SHELL_SYNTAX = re.compile(r"[;&|<>()$`\\{}\[\]*?~!#\n\r'\"]")
_ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*=")
_MAX_SCRIPT = 10_000_000


def fingerprint(tool: str, arguments: dict[str, Any], workspace: Path) -> str:
    """Return the SHA-256 in hex of all that an approval is bound to."""
    digest = hashlib.sha256()
    parts = [
        tool.encode(),
        orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS),
        str(workspace).encode(),
        *_script_hashes(arguments, workspace),
    ]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def may_repeat(arguments: dict[str, Any]) -> bool:
    """Whether "allow for the session" may be offered for a command.

    Only for plain words whose first is no shell, interpreter or wrapper: nothing else means the
    same thing each time it is run.
    """
    command = arguments.get("command")
    if not isinstance(command, str):
        return True
    if _SHELL_SYNTAX.search(command):
        return False
    words = command.split()
    if not words or _ASSIGNMENT.match(words[0]):
        return False
    name = words[0].rsplit("/", 1)[-1]
    return not _WRAPPERS.fullmatch(name) and "/" not in words[0]


def _script_hashes(arguments: dict[str, Any], workspace: Path) -> list[bytes]:
    """Return the hashes of the workspace's files that a command names, in the order of naming."""
    command = arguments.get("command")
    if not isinstance(command, str):
        return []
    base = workspace / str(arguments.get("cwd") or ".")
    return [digest for word in _words(command) if (digest := _hash_of(base, word)) is not None]


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _hash_of(base: Path, word: str) -> bytes | None:
    path = base / word
    try:
        if not path.is_file() or path.stat().st_size > _MAX_SCRIPT:
            return None
        return hashlib.sha256(path.read_bytes()).digest()
    except (OSError, ValueError):
        return None
