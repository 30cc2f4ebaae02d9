"""Keep bytes by their SHA-256. The file comes first, the row second: a row always has its file."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from habakkuk.blobs import store
from habakkuk.core.errors import NotFound
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database

_PART = ".part-"
# Bytes on their way from one file to another.
_PIECE = 1_000_000


class Blobs:
    """Files below `$HABAKKUK_HOME/blobs/<first two digits>/<sha256>`."""

    def __init__(self, folder: Path, database: Database, failpoints: Failpoints) -> None:
        """Use `folder`; it is made at the first write."""
        self._folder = folder
        self._database = database
        self._failpoints = failpoints

    def put(self, data: bytes, mime: str, session_id: str | None = None) -> str:
        """Store bytes and return their id, as `put_file` does."""
        return self.put_file(io.BytesIO(data), mime, session_id)

    def put_file(self, source: BinaryIO, mime: str, session_id: str | None = None) -> str:
        """Store all of a file that is read more than once, in pieces; return the id.

        A kill leaves a temporary file at most. What no row names within a day is removed; with a
        `session_id`, while that session is there.
        """
        blob = self.write_file(source)
        size = source.seek(0, os.SEEK_END)
        self._failpoints.hit("blob.file.after")
        store.add(self._database, blob, size, mime, session_id)
        # Its removal may have come between; the row has waited for the end of that.
        return self.write_file(source, blob)

    def write_file(self, source: BinaryIO, blob: str | None = None) -> str:
        """Write the file of `put_file` alone, for a thread that may not use the database.

        `blob` is the id where it is known. Returns it.
        """
        if blob is None:
            blob = _digest(source)
        path = self._path(blob)
        if not path.exists():
            self._write(path, source)
        return blob

    def get(self, blob: str) -> bytes:
        """Return the bytes of `blob`. Raises NotFound."""
        if store.find(self._database, blob) is None:
            raise NotFound(f"there is no file {blob[:12]}")
        try:
            return self._path(blob).read_bytes()
        except FileNotFoundError as error:
            raise NotFound(f"the file {blob[:12]} is missing below {self._folder}") from error

    def has(self, blob: str) -> bool:
        """Whether the file of `blob` is there."""
        return store.find(self._database, blob) is not None and self._path(blob).exists()

    def open(self, blob: str) -> BinaryIO:
        """Open the file of a blob that is there. Raises NotFound."""
        try:
            return self._path(blob).open("rb")
        except FileNotFoundError as error:
            raise NotFound(f"the file {blob[:12]} is missing below {self._folder}") from error

    def remove(self, blobs: Sequence[str], older: float) -> int:
        """Remove those not stored for `older` seconds, which nothing may name; return how many."""
        with self._database.transaction() as work:
            gone = store.remove(work, blobs, older)
            # While the rows are locked: who stores the same meanwhile waits, and writes it again.
            for blob in gone:
                self._path(blob).unlink(missing_ok=True)
        return len(gone)

    def remove_parts(self, older: float) -> int:
        """Remove what a kill left half written more than `older` seconds ago; return how many.

        One that is being written is younger.
        """
        before = time.time() - older
        removed = 0
        for part in self._folder.glob(f"*/{_PART}*"):
            # Gone meanwhile: whoever wrote it has put it in its place.
            with suppress(FileNotFoundError):
                if part.lstat().st_mtime < before:
                    part.unlink()
                    removed += 1
        return removed

    def _path(self, blob: str) -> Path:
        return self._folder / blob[:2] / blob

    def _write(self, path: Path, source: BinaryIO) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=_PART)
        try:
            with os.fdopen(handle, "wb") as out:
                # Containers of several users share a home: their group reads what each one stores.
                os.fchmod(handle, 0o640)
                source.seek(0)
                shutil.copyfileobj(source, out, _PIECE)
                out.flush()
                os.fsync(out.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _digest(source: BinaryIO) -> str:
    digest = hashlib.sha256()
    source.seek(0)
    while piece := source.read(_PIECE):
        digest.update(piece)
    return digest.hexdigest()
