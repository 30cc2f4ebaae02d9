"""What lies at a path: only ordinary files are read and replaced."""

from __future__ import annotations

import os
import stat

from habakkuk.core.errors import ToolError

_KINDS = {
    stat.S_IFLNK: "a symbolic link, and links are not followed",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def expect_file(path: str, found: os.stat_result) -> None:
    """Raise ToolError for anything else, and say what it is."""
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "no ordinary file")
        raise ToolError(f"{path}: this is {kind}")
