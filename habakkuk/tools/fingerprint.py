"""What exactly was approved: the tool, its arguments, the folder and the scripts it would run.

An approval is bound to this. When anything of it changes between the question and the run, the
approval is for something else.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

# Programs that do what their words say: they run no other, and read no file that tells them what to
# do. Naming those that do would never end: wrappers and interpreters are made every day.
_PLAIN = re.compile(
    r"""
    arch | b2sum | basename | cal | cat | chmod | cksum | cmp | comm | cp | cut | date | df | diff
  | dir | dirname | du | echo | egrep | factor | false | fgrep | file | free | getconf | grep
  | groups | head | hexdump | hostname | id | ln | locale | ls | lsblk | lscpu | md5sum | mkdir
  | mv | nl | nproc | od | paste | ps | pwd | readlink | realpath | rev | rm | rmdir | seq
  | sha1sum | sha256sum | sha512sum | sleep | stat | tac | tail | touch | tr | tree | true | uname
  | uniq | uptime | users | vdir | wc | whereis | which | who | whoami | xxd
    """,
    re.VERBOSE,
)
# Anything that a shell would act on: what is run is then not the words that were shown.
_SHELL_SYNTAX = re.compile(r"[;&|<>()$`\\{}\[\]*?~!#\n\r'\"]")
# Where it ends a word; what else Python takes for a space is a part of one.
_BLANK = re.compile(r"[ \t]+")
# Those that write nowhere but to their output: what they read goes to the agent alone.
_READER = re.compile(
    r"""
    b2sum | cat | cksum | cmp | comm | cut | date | df | diff | du | echo | egrep | fgrep | grep
  | head | hexdump | ls | md5sum | nl | od | paste | ps | rev | sha1sum | sha256sum | sha512sum
  | stat | tac | tail | tr | wc
    """,
    re.VERBOSE,
)
# What puts a command inside another, writes to a file, or makes a text mean something else.
_INVOLVED = re.compile(r"[$`\\(){}!#\n\r>]|<<")
_HARMLESS_OUTPUT = re.compile(r" 2>(&1|/dev/null)(?= |$)")
_OPERATOR = re.compile(r"[|&;<]{2,}|[|&;]")
_NEXT_COMMAND = frozenset({"|", "||", "&&", ";"})
# Where a shell ends a word, so that the file in `sh<run.sh` or `--file=run.sh;` is seen.
_BETWEEN = re.compile(r"""[\s;&|<>(){}'"`=$,]+""")
_ENTERED = re.compile(r"""\b(?:cd|pushd)\s+(?:--\s+)?["']?([^\s;&|<>()'"]+)""")
_MOST_FOLDERS = 8
# How much of all files together is read; of what is above, the file system's record must do.
_MOST_BYTES = 20_000_000
# Opening a pipe without O_NONBLOCK waits for its other end, and some files of /proc for an event.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def fingerprint(tool: str, arguments: dict[str, Any], workspace: Path) -> str:
    """Return the SHA-256 in hex of all that an approval is bound to."""
    digest = hashlib.sha256()
    parts = [
        tool.encode(),
        orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS),
        str(workspace).encode(),
        *_file_marks(arguments, workspace),
    ]
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def may_repeat(arguments: dict[str, Any]) -> bool:
    """Whether "allow for the session" may be offered for a command.

    Only for plain words whose first is one of the programs known to do no more than that: nothing
    else means the same thing each time it is run.
    """
    command = arguments.get("command")
    if not isinstance(command, str):
        return True
    if _SHELL_SYNTAX.search(command):
        return False
    return bool(_PLAIN.fullmatch(_BLANK.split(command.strip(" \t"))[0]))


def _only_reads(command: str) -> bool:
    """Whether a command is readers and pipes between them, which run nothing that they read.

    A log may grow then while somebody thinks about the answer.
    """
    shown = _HARMLESS_OUTPUT.sub("", command)
    if _INVOLVED.search(shown):
        return False
    lexer = shlex.shlex(shown, posix=True, punctuation_chars="|&;<")
    lexer.whitespace_split = True
    begins = True
    try:
        for token in lexer:
            if begins and not _READER.fullmatch(token):
                return False
            begins = token in _NEXT_COMMAND
            if _OPERATOR.fullmatch(token) and not begins:
                return False
    except ValueError:
        return False
    return not begins


def _file_marks(arguments: dict[str, Any], workspace: Path) -> Iterator[bytes]:
    """Yield each file that a command names, with what tells its content, in the order of naming.

    From the folder in which it starts, and from those that it says it enters.
    """
    command = arguments.get("command")
    if not isinstance(command, str) or _only_reads(command):
        return
    start = workspace / str(arguments.get("cwd") or ".")
    entered = [start / name for name in _ENTERED.findall(command)[:_MOST_FOLDERS]]
    words = _words(command)
    named = (folder / word for folder in dict.fromkeys((start, *entered)) for word in words)
    yield from _marks(dict.fromkeys(named))


def _words(command: str) -> list[str]:
    """Return the words of a command, both as a shell reads them and cut at all that it acts on."""
    try:
        quoted = shlex.split(command)
    except ValueError:
        quoted = []
    return [word for word in dict.fromkeys((*quoted, *_BETWEEN.split(command))) if word]


def _marks(paths: Iterable[Path]) -> Iterator[bytes]:
    left = _MOST_BYTES
    for path in paths:
        found = _ordinary(path)
        if found is None:
            continue
        yield os.fsencode(path)
        if found.st_size <= left:
            left -= found.st_size
            yield _content(path, found.st_size)
        else:
            yield f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_ctime_ns}".encode()


def _ordinary(path: Path) -> os.stat_result | None:
    """Return what is known of a file, None when there is none at that path."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found if stat.S_ISREG(found.st_mode) else None


def _content(path: Path, size: int) -> bytes:
    if not size:
        # Nothing, or a file of the system, whose content is made as it is read.
        return b""
    try:
        with os.fdopen(os.open(path, _READ), "rb") as file:
            return hashlib.sha256(file.read(size)).digest()
    except OSError:
        return b"unreadable"
