"""Every call of git, with nothing in force that a workspace could have put there."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.interrupt import Interrupt
from habakkuk.core.programs import Bounds, Done, Program, run
from habakkuk.tools.checkpoints.types import NoCheckpoint
from habakkuk.tools.reach import closed_to

_LAUNCH = str(Path(__file__).with_name("launch.py"))
_SHOWN = 500
# The names of millions of files.
_MOST_OUTPUT = 256_000_000
_MOST_ERRORS = 1_000_000
_UMASK = 0o022
# Security case 26: a repository in the workspace must get nothing run.
_OPTIONS = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "safe.bareRepository=explicit",
    "protocol.file.allow=user",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    # Files come back byte for byte.
    "core.bare=false",
    "core.autocrlf=false",
    "core.safecrlf=false",
    "core.fileMode=true",
    "core.symlinks=true",
    "core.quotePath=false",
    "core.logAllRefUpdates=false",
    "core.looseCompression=1",
    # It is cleared up when there is time (Shadow.clear), never in the background.
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
)
_NAME, _MAIL = "Habakkuk", "checkpoints@habakkuk.invalid"


@dataclass(frozen=True)
class Git:
    """Git on one repository and one workspace, as whom the workspace belongs to.

    `lock` is the descriptor of the repository's lock. Git inherits it: the lock is free only when
    no git runs any more, also after the process that started one was killed.
    """

    repository: Path
    workspace: Path
    lock: int
    until: float
    interrupt: Interrupt

    def run(self, *words: str, given: bytes = b"", index: Path | None = None) -> bytes:
        """Return what git prints. Raises NoCheckpoint with what it says, Interrupted."""
        program = shutil.which("git")
        if program is None:
            raise NoCheckpoint("there is no git on this machine; install it to have checkpoints")
        options = [word for option in _OPTIONS for word in ("-c", option)]
        left = max(self.until - time.monotonic(), 0)
        command = self._as_owner([program, *options, *words], self._variables(index))
        done = run(command, Bounds(left, _MOST_OUTPUT, _MOST_ERRORS), self.interrupt, given)
        if done.code != 0:
            raise NoCheckpoint(f"git {words[0]} failed: {_why(done)}")
        return done.output

    def _as_owner(self, command: Sequence[str], variables: dict[str, str]) -> Program:
        """Return a command that runs as whom the workspace belongs to."""
        held = (self.lock,)
        here = Program(command, variables, self.workspace, held, umask=_UMASK)
        if os.geteuid() != 0:
            return here
        user = find_agent_user()
        if user is None:
            raise NoCheckpoint("git is not run as root, and the user of commands is missing")
        hide = self._closed(user)
        if hide is None:
            return replace(here, user=user)
        order = {
            "hide": str(hide),
            "keep": [str(self.workspace), str(self.repository)],
            "user": [user.uid, user.gid],
            "folder": str(self.workspace),
            "command": list(command),
            "variables": variables,
        }
        launch = [sys.executable, "-I", "-S", _LAUNCH, json.dumps(order)]
        return Program(launch, {}, Path("/"), held, umask=_UMASK)

    def _closed(self, user: AgentUser) -> Path | None:
        """Return the topmost folder that the agents' user cannot pass on the way to either."""
        found = [closed_to(path, user) for path in (self.workspace, self.repository)]
        return min((path for path in found if path), key=lambda p: len(p.parts), default=None)

    def _variables(self, index: Path | None) -> dict[str, str]:
        variables = {
            "PATH": os.defpath,
            "HOME": "/nonexistent",
            "LC_ALL": "C",
            "GIT_DIR": str(self.repository),
            "GIT_WORK_TREE": str(self.workspace),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_LITERAL_PATHSPECS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_AUTHOR_NAME": _NAME,
            "GIT_AUTHOR_EMAIL": _MAIL,
            "GIT_COMMITTER_NAME": _NAME,
            "GIT_COMMITTER_EMAIL": _MAIL,
        }
        if index is not None:
            variables["GIT_INDEX_FILE"] = str(index)
        return variables


def _why(done: Done) -> str:
    if done.late:
        return "it took too long"
    if done.full:
        return "it printed more than is read"
    return done.errors.decode("utf-8", "replace").strip()[:_SHOWN] or f"exit code {done.code}"
