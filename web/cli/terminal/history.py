"""What was typed before, with the arrow keys, kept in a file that only its owner reads."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

_LINES = 1000


class History:
    """Line editing for `input` inside this block; without a readline there is none."""

    def __init__(self, path: Path) -> None:
        """Keep the lines in `path`."""
        self._path = path
        self._readline = _load()

    def __enter__(self) -> None:
        """Read the lines of earlier conversations."""
        if self._readline is None:
            return
        # A paste of several lines is one message then, not as many.
        self._readline.parse_and_bind("set enable-bracketed-paste on")
        self._readline.set_history_length(_LINES)
        self._path.touch(mode=0o600)
        self._path.chmod(0o600)
        self._readline.read_history_file(self._path)

    def __exit__(self, *_: object) -> None:
        """Write them, those of this one included."""
        if self._readline is not None:
            self._readline.write_history_file(self._path)
            self._path.chmod(0o600)


def _load() -> ModuleType | None:
    try:
        import readline  # noqa: PLC0415 - changes how `input` works, so only where that is wanted
    except ImportError:
        return None
    return readline
