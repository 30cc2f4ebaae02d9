"""A folder in the home for one command's half-done work."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from habakkuk.ops.home import prepare_home

_PREFIX = ".scratch-"
# Longer than a command may take: what is older was left by one that was killed.
_OLD_SECONDS = 86_400.0


@contextmanager
def scratch(root: Path) -> Iterator[Path]:
    """Yield an empty folder on the home's own disk, closed to others and removed at the end."""
    home = prepare_home(root).root
    for left in home.glob(f"{_PREFIX}*"):
        if left.stat().st_mtime < time.time() - _OLD_SECONDS:
            shutil.rmtree(left)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=home))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
