"""Long tool outputs, kept whole: each belongs to the session whose call gave it."""

from __future__ import annotations

import re
from collections.abc import Callable

from habakkuk.core.errors import NotFound, ToolError
from habakkuk.core.text import clean

_HANDLE = re.compile(r"[0-9a-f]{64}")
_MIME = "text/plain; charset=utf-8"

Put = Callable[[bytes, str], str]
Get = Callable[[str], bytes]


def _nowhere(*_: object) -> str:
    raise ToolError("this output is too long, and there is no place to keep it")


def _nothing(handle: str) -> bytes:
    raise NotFound(handle)


class KeptOutputs:
    """Keeps texts as blobs.

    The first line of a blob names its session. So a handle reads in that session only, equal texts
    of two sessions have two handles, and a file of another kind is never read as an output.
    """

    def __init__(self, put: Put = _nowhere, get: Get = _nothing) -> None:
        """Take the blobs' `put(data, mime) -> id` and `get(id) -> data`, which raises NotFound."""
        self._put = put
        self._get = get

    def keep(self, session_id: str, text: str) -> str:
        """Store a text; return its handle."""
        return self._put(_header(session_id) + clean(text).encode(), _MIME)

    def read(self, session_id: str, handle: str) -> str:
        """Return a kept text. Raises ToolError when this session has none under that handle."""
        header = _header(session_id)
        data = self._data(handle)
        if data is None or not data.startswith(header):
            raise ToolError(
                "there is no kept output with this handle; copy it whole from the result that"
                " names it"
            )
        return data[len(header) :].decode()

    def _data(self, handle: str) -> bytes | None:
        if not _HANDLE.fullmatch(handle):
            return None
        try:
            return self._get(handle)
        except NotFound:
            return None


def _header(session_id: str) -> bytes:
    return f"habakkuk tool output of session {session_id!r}\n".encode()
