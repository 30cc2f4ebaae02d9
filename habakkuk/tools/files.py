"""Files that tools show a model: stored before anything names them."""

from __future__ import annotations

from collections.abc import Callable

from habakkuk.core.errors import ToolError
from habakkuk.core.text import clean, shorten
from habakkuk.llm.types import Media

_LONGEST_NAME = 100


def _nowhere(_data: bytes, _mime: str) -> str:
    raise ToolError("there is no place to keep this file, so it cannot be shown")


class ShownFiles:
    """Keeps files as blobs. Thread-safe."""

    def __init__(self, put: Callable[[bytes, str], str] = _nowhere) -> None:
        """Take the blobs' `put(data, mime) -> id`."""
        self._put = put

    def shown(self, data: bytes, mime: str, name: str) -> Media:
        """Store a file and return what names it in a result. Raises ToolError.

        What no result names, since a crash came between, is removed after a day.
        """
        try:
            blob = self._put(data, mime)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise ToolError(f"the file could not be kept: {reason}") from error
        return Media(blob=blob, mime=mime, name=shorten(clean(name), _LONGEST_NAME))
