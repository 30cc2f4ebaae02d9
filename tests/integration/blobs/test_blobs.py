"""Files by their content; a row always has its file (blueprint §12)."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import text

from habakkuk.blobs.service import Blobs
from habakkuk.core.errors import NotFound
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database
from tests.fakes.stack import until
from tests.integration.jobs.bench import in_threads

DATA = b"a picture\x00\xff"
ID = hashlib.sha256(DATA).hexdigest()
ROOT = Path(__file__).parents[3]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    pool = Database(database_url, pool_size=12, name="test")
    yield pool
    pool.dispose()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(folder: Path, database: Database) -> Blobs:
    return Blobs(folder, database, Failpoints())


def rows(database: Database) -> list[tuple[str, int, str]]:
    return [tuple(row) for row in database.run(text("SELECT id, size, mime FROM blobs"))]


def test_bytes_come_back_as_they_went(blobs: Blobs, database: Database, folder: Path) -> None:
    assert blobs.put(DATA, "image/png") == ID
    assert blobs.get(ID) == DATA
    assert rows(database) == [(ID, len(DATA), "image/png")]
    assert (folder / ID[:2] / ID).read_bytes() == DATA


def test_others_may_not_read_what_is_stored_and_the_group_may_not_write(
    blobs: Blobs, folder: Path
) -> None:
    blobs.put(DATA, "image/png")
    assert (folder / ID[:2]).stat().st_mode & 0o027 == 0
    assert (folder / ID[:2] / ID).stat().st_mode & 0o027 == 0


def test_the_same_bytes_are_kept_once(blobs: Blobs, database: Database, folder: Path) -> None:
    blobs.put(DATA, "image/png")
    written = (folder / ID[:2] / ID).stat().st_mtime_ns
    assert blobs.put(DATA, "text/plain") == ID
    assert rows(database) == [(ID, len(DATA), "image/png")]
    assert (folder / ID[:2] / ID).stat().st_mtime_ns == written


def test_many_writers_of_the_same_bytes_agree(
    blobs: Blobs, database: Database, folder: Path
) -> None:
    found: list[str] = []
    in_threads(8, lambda _: found.append(blobs.put(DATA, "image/png")))
    assert set(found) == {ID}
    assert len(rows(database)) == 1
    assert [path.name for path in (folder / ID[:2]).iterdir()] == [ID]


def test_no_bytes_are_a_file_too(blobs: Blobs) -> None:
    assert blobs.get(blobs.put(b"", "text/plain")) == b""


@pytest.mark.parametrize("name", ["", "0" * 64, "../../etc/passwd"])
def test_an_unknown_file_is_not_there(blobs: Blobs, name: str) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        blobs.get(name)


def test_a_file_that_somebody_removed_is_named(blobs: Blobs, folder: Path) -> None:
    blobs.put(DATA, "image/png")
    (folder / ID[:2] / ID).unlink()
    with pytest.raises(NotFound, match=f"the file {ID[:12]} is missing"):
        blobs.get(ID)


def test_a_failed_write_leaves_nothing(
    blobs: Blobs, database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        blobs.put(DATA, "image/png")
    assert list((folder / ID[:2]).iterdir()) == []
    assert rows(database) == []


_PROGRAM = """
import sys
from pathlib import Path
from habakkuk.blobs.service import Blobs
from habakkuk.core.failpoints import Failpoints
from habakkuk.db.engine import Database
blobs = Blobs(Path(sys.argv[1]), Database(sys.argv[2]), Failpoints("blob.file.after=1"))
blobs.put(bytes.fromhex(sys.argv[3]), "image/png")
"""


def test_a_kill_between_file_and_row_is_mended_by_the_next_try(
    blobs: Blobs, database: Database, database_url: str, folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), database_url, DATA.hex()],
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    assert rows(database) == []
    with pytest.raises(NotFound):
        blobs.get(ID)
    assert blobs.put(DATA, "image/png") == ID
    assert blobs.get(ID) == DATA


def test_what_a_kill_left_half_written_goes_when_it_is_old(blobs: Blobs, folder: Path) -> None:
    blobs.put(DATA, "image/png")
    old, young = (folder / ID[:2] / f".part-{name}" for name in ("old", "young"))
    for part in (old, young):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    os.utime(folder / ID[:2] / ID, (0, 0))
    assert blobs.remove_parts(3600) == 1
    assert sorted(path.name for path in (folder / ID[:2]).iterdir()) == [".part-young", ID]
    assert blobs.get(ID) == DATA


AGE = text("UPDATE blobs SET stored = now() - interval '2 days'")


def test_what_was_not_stored_for_long_can_be_removed(
    blobs: Blobs, database: Database, folder: Path
) -> None:
    blobs.put(DATA, "image/png")
    database.run(AGE)
    young = blobs.put(b"young", "image/png")
    assert blobs.remove([ID, young], 86_400) == 1
    assert [row[0] for row in rows(database)] == [young]
    assert not (folder / ID[:2] / ID).exists()
    assert blobs.get(young) == b"young"


def test_stored_again_a_file_is_young(blobs: Blobs, database: Database) -> None:
    blobs.put(DATA, "image/png")
    database.run(AGE)
    blobs.put(DATA, "image/png")
    assert blobs.remove([ID], 86_400) == 0
    assert blobs.get(ID) == DATA


def test_what_is_stored_while_it_is_removed_is_there(
    blobs: Blobs, database: Database, folder: Path
) -> None:
    blobs.put(DATA, "image/png")
    database.run(AGE)
    with ThreadPoolExecutor(1) as pool:
        with database.transaction() as work:
            # As `remove` does it, which holds the row until the file is gone.
            work.execute(text("DELETE FROM blobs"))
            stored = pool.submit(blobs.put, DATA, "image/png")
            until(lambda: _waits(database))
            (folder / ID[:2] / ID).unlink()
        assert stored.result(10) == ID
    assert blobs.get(ID) == DATA


def _waits(database: Database) -> bool:
    sql = text("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
    return bool(database.run(sql))


def test_an_output_of_a_session_stays_one_of_it(blobs: Blobs, database: Database) -> None:
    blobs.put(DATA, "text/plain", "ses_1")
    blobs.put(DATA, "text/plain")
    assert [r.session_id for r in database.run(text("SELECT session_id FROM blobs"))] == ["ses_1"]


def test_without_a_folder_there_is_nothing_to_remove(blobs: Blobs) -> None:
    assert blobs.remove_parts(0) == 0
