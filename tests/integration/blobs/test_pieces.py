"""Files are stored in pieces: many that come at once may not fill the memory of a worker."""

from __future__ import annotations

import hashlib
import io
import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from habakkuk.blobs.service import Blobs
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database

_SIZE = 25_000_000
# Far less than a file, and more than a piece on its way from one to the other.
_MOST_HELD = 4_000_000


@pytest.fixture
def blobs(database_url: str, tmp_path: Path) -> Iterator[Blobs]:
    pool = Database(database_url, pool_size=2, name="test")
    yield Blobs(tmp_path / "blobs", pool, Failpoints())
    pool.dispose()


@pytest.fixture
def large() -> Iterator[BinaryIO]:
    with tempfile.TemporaryFile() as made:
        for _ in range(_SIZE // 100_000):
            made.write(b"piece " * 16_666 + b"pie.")
        yield made


def test_a_large_file_is_never_held_whole(blobs: Blobs, large: BinaryIO) -> None:
    tracemalloc.start()
    try:
        blob = blobs.put_file(large, "text/plain")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < _MOST_HELD
    stored = blobs.get(blob)
    assert len(stored) == _SIZE
    assert hashlib.sha256(stored).hexdigest() == blob


def test_where_its_reader_stands_does_not_matter(blobs: Blobs) -> None:
    source = io.BytesIO(b"all of it")
    source.seek(4)
    assert blobs.get(blobs.put_file(source, "text/plain")) == b"all of it"
