"""Every call of git, with nothing in force that a workspace could have put there."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.checkpoints.types import NoCheckpoint
from habakkuk.tools.reach import closed_to

_LAUNCH = str(Path(__file__).with_name("launch.py"))
_SHOWN = 500
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
        code, output, errors = self._started([program, *options, *words], given, index)
        self.interrupt.check()
        if code != 0:
            said = errors.decode("utf-8", "replace").strip()[:_SHOWN]
            if time.monotonic() >= self.until:
                said = "it took too long"
            raise NoCheckpoint(f"git {words[0]} failed: {said or f'exit code {code}'}")
        return output

    def _started(
        self, command: Sequence[str], given: bytes, index: Path | None
    ) -> tuple[int, bytes, bytes]:
        process = subprocess.Popen(
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(self.lock,),
            umask=0o022,
            start_new_session=True,
            **self._as_owner(command, self._variables(index)),
        )
        with self.interrupt.freeing(lambda: _kill(process)):
            try:
                left = max(self.until - time.monotonic(), 0)
                output, errors = process.communicate(given, timeout=left)
            except subprocess.TimeoutExpired:
                _kill(process)
                output, errors = process.communicate()
        return process.returncode, output, errors

    def _as_owner(self, command: Sequence[str], variables: dict[str, str]) -> dict[str, Any]:
        """Return how a command is started as whom the workspace belongs to."""
        here: dict[str, Any] = {"args": command, "env": variables, "cwd": self.workspace}
        if os.geteuid() != 0:
            return here
        user = find_agent_user()
        if user is None:
            raise NoCheckpoint("git is not run as root, and the user of commands is missing")
        hide = self._closed(user)
        if hide is None:
            return here | {"user": user.uid, "group": user.gid, "extra_groups": []}
        order = {
            "hide": str(hide),
            "keep": [str(self.workspace), str(self.repository)],
            "user": [user.uid, user.gid],
            "folder": str(self.workspace),
            "command": list(command),
            "variables": variables,
        }
        launch = [sys.executable, "-I", "-S", _LAUNCH, json.dumps(order)]
        return {"args": launch, "env": {}, "cwd": "/"}

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


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill git with what it started: `gc` has others work, which hold its lock and its pipes."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
