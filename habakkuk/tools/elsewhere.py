"""Files outside the workspace that a person let an agent read.

An agent gets no further by a tool of ours than by a command of its own: what its commands could
not read is refused, whoever allows the call. Habakkuk's own home is never read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from habakkuk.core.agent_user import AgentUser, find_agent_user
from habakkuk.core.errors import ToolError
from habakkuk.tools.commands import Commands
from habakkuk.tools.paths import inside
from habakkuk.tools.reach import closed_to
from habakkuk.tools.workspace import Workspace

_ROOT = Path("/")
# What lies there is no file but a view of the system, of this very process among others.
_VIEWS = ("/proc", "/sys", "/dev")


@dataclass(frozen=True)
class Limit:
    """How many bytes of a file are read; `over` says why not more."""

    size: int
    over: str


def read_elsewhere(
    path: str,
    limit: Limit,
    commands: Commands,
    agent: str,
    user: Callable[[], AgentUser | None] = find_agent_user,
) -> bytes:
    """Return a file's bytes, by its whole path and without links. Raises ToolError."""
    if not commands.sees_all(agent):
        raise ToolError(f"{path}: this agent is kept to its workspace")
    whole = _ROOT.joinpath(*inside(path, _ROOT))
    hidden = [*map(Path, _VIEWS), *([commands.home.resolve()] if commands.home else [])]
    if any(whole.is_relative_to(folder) for folder in hidden):
        raise ToolError(f"{path}: no agent reads there")
    check = partial(_expect_readable, whole, user()) if os.geteuid() == 0 else None
    folder = os.open(_ROOT, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return Workspace(_ROOT, folder).read(path, limit.size, limit.over, check)
    finally:
        os.close(folder)


def _expect_readable(path: Path, user: AgentUser | None, found: os.stat_result) -> None:
    """Refuse as root what the agents' own user may not read: of the very file that was opened."""
    try:
        closed = user is None or closed_to(path, user) is not None
    except OSError as error:
        raise ToolError(f"{path}: {(error.strerror or 'unreadable').lower()}") from error
    if user is None or closed or not _lets_read(found, user):
        raise ToolError(f"{path}: the user of agents' commands may not read it")


def _lets_read(found: os.stat_result, user: AgentUser) -> bool:
    if found.st_uid == user.uid:
        return bool(found.st_mode & stat.S_IRUSR)
    if found.st_gid == user.gid:
        return bool(found.st_mode & stat.S_IRGRP)
    return bool(found.st_mode & stat.S_IROTH)
