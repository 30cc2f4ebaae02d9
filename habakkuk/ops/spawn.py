"""Starting programs: tools that end by themselves, and servers that stay."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from habakkuk.ops.account import ServiceUser


@dataclass(frozen=True)
class Program:
    """What to start: the arguments, where, with which variables, as whom (None: as ourselves)."""

    arguments: Sequence[str]
    folder: Path
    variables: Mapping[str, str]
    user: ServiceUser | None = None


# Messages are read (a version, a reason), so they must not be translated.
PLAIN_VARIABLES: Mapping[str, str] = {"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}


def run_tool(program: Program, *, given: str = "", seconds: float = 120) -> tuple[int, str]:
    """Run a program to its end; return its exit code and all it said.

    Raises OSError when it cannot be started, subprocess.TimeoutExpired when it does not end.
    """
    done = subprocess.run(
        list(program.arguments),
        cwd=program.folder,
        env=dict(program.variables),
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        user=program.user.uid if program.user else None,
        group=program.user.gid if program.user else None,
        extra_groups=[] if program.user else None,
    )
    return done.returncode, done.stdout


def start_server(program: Program, log: int) -> subprocess.Popen[bytes]:
    """Start a program in a session of its own, so that Ctrl+C in the terminal is not for it."""
    return subprocess.Popen(
        list(program.arguments),
        cwd=program.folder,
        env=dict(program.variables),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        umask=0o077,
        user=program.user.uid if program.user else None,
        group=program.user.gid if program.user else None,
        extra_groups=[] if program.user else None,
    )
