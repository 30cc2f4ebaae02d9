"""Long tool outputs, kept whole: each belongs to the session whose call gave it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from habakkuk.core.errors import NotFound, ToolError
from habakkuk.core.text import clean

_HANDLE = re.compile(r"[0-9a-f]{64}")
_MIME = "text/plain; charset=utf-8"

Put = Callable[[bytes, str, str], str]
Get = Callable[[str], bytes]


def _nowhere(*_: object) -> str:
    raise ToolError("this output is too long, and there is no place to keep it")


def _nothing(handle: str) -> bytes:
    raise NotFound(handle)


@dataclass(frozen=True)
class Kept:
    """A text, and whether it came from outside: who reads it is tainted by it, also later."""

    text: str
    outside: bool


class KeptOutputs:
    """Keeps texts as blobs.

    The first line of a blob names its session. So a handle reads in that session only, equal texts
    of two sessions have two handles, and a file of another kind is never read as an output.
    """

    def __init__(self, put: Put = _nowhere, get: Get = _nothing) -> None:
        """Take the blobs' `put(data, mime, session_id) -> id` and `get(id) -> data`.

        That raises NotFound.
        """
        self._put = put
        self._get = get

    def keep(self, session_id: str, text: str, *, outside: bool) -> str:
        """Store a text; return its handle."""
        data = _header(session_id, outside=outside) + clean(text).encode()
        return self._put(data, _MIME, session_id)

    def read(self, session_id: str, handle: str) -> Kept:
        """Return a kept text. Raises ToolError when this session has none under that handle."""
        data = self._data(handle) or b""
        for outside in (False, True):
            header = _header(session_id, outside=outside)
            if data.startswith(header):
                return Kept(data[len(header) :].decode(), outside)
        raise ToolError(
            "there is no kept output with this handle; copy it whole from the result that names it"
        )

    def _data(self, handle: str) -> bytes | None:
        if not _HANDLE.fullmatch(handle):
            return None
        try:
            return self._get(handle)
        except NotFound:
            return None


def _header(session_id: str, *, outside: bool) -> bytes:
    origin = "outside" if outside else "here"
    return f"habakkuk tool output of session {session_id!r}, from {origin}\n".encode()
