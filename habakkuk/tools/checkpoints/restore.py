"""Bring a workspace, or a part of it, back to a checkpoint."""

from __future__ import annotations

import stat
from pathlib import Path

from habakkuk.core.errors import ToolError
from habakkuk.tools.checkpoints.shadow import Shadow
from habakkuk.tools.checkpoints.types import Restored
from habakkuk.tools.workspace import open_workspace


def restore(shadow: Shadow, now: str, wanted: str, path: str | None = None) -> Restored:
    """Make the files of the tree `wanted` of those of `now`, which is what stands there.

    What is in no checkpoint (ignored, too large, in a repository of its own) is left alone, also
    where a file should come: then that file does not, and is told. Run again after it was cut
    short, it does the rest. Raises NoCheckpoint, ToolError.
    """
    differing = list(shadow.differing(now, wanted, path))
    gone = [name for letter, name in differing if letter == "D"]
    come = [(letter, name) for letter, name in differing if letter != "D"]
    left: list[str] = []
    workspace = shadow.git.workspace
    with open_workspace(workspace) as open_one:
        for name in gone:
            try:
                open_one.remove(name)
            except ToolError as error:
                left.append(str(error))
    ready = []
    for letter, name in come:
        why = _in_the_way(workspace, name, new=letter == "A")
        if why is None:
            ready.append(name)
        else:
            left.append(f"{name}: {why}")
    if ready:
        shadow.write_out(wanted, ready)
    return Restored(shadow.stat(now, wanted, path), tuple(left))


def _in_the_way(workspace: Path, name: str, *, new: bool) -> str | None:
    """Return what stands where a file should come and is in no checkpoint."""
    names = name.split("/")
    for depth in range(1, len(names)):
        above = workspace.joinpath(*names[:depth])
        if not _is_folder(above):
            if above.is_symlink() or above.exists():
                return "something that is in no checkpoint stands in the place of its folder"
            break
    place = workspace / name
    if _is_folder(place):
        return "a folder with files that are in no checkpoint stands there"
    if new and (place.is_symlink() or place.exists()):
        return "a file that is in no checkpoint stands there"
    return None


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
