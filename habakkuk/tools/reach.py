"""Whom the folders around a workspace let in, by their modes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from habakkuk.core.agent_user import AgentUser


def closed_to(workspace: Path, user: AgentUser) -> Path | None:
    """Return the first folder above the workspace that `user` cannot pass, None when all are."""
    for folder in reversed(workspace.parents):
        found = folder.stat()
        bit = stat.S_IXUSR if found.st_uid == user.uid else stat.S_IXOTH
        if found.st_gid == user.gid and found.st_uid != user.uid:
            bit = stat.S_IXGRP
        if not found.st_mode & bit:
            return folder
    return None


def readable_by_others(folder: Path) -> list[str]:
    """Return the paths below `folder` that other users of this machine could read or write.

    Only folders that let others pass are looked into; workspaces do not.
    """
    found: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                continue
            if mode & (stat.S_IROTH | stat.S_IWOTH):
                found.append(entry.path)
            if stat.S_ISDIR(mode) and mode & stat.S_IXOTH:
                found += readable_by_others(Path(entry.path))
    return sorted(found)
