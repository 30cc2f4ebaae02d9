"""Row 29: the one archive that is unpacked, a backup: nothing lands outside, nothing half."""

from __future__ import annotations

import io
import os
import random
import struct
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.core.errors import Invalid
from habakkuk.ops.archive import Writer
from habakkuk.ops.manifest import DUMP, MANIFEST, Manifest
from habakkuk.ops.restore import _unpack_all

_MANIFEST = Manifest.model_validate(
    {
        "format": 1,
        "habakkuk": "1",
        "revision": "0001",
        "created": "2026-11-30T00:00:00Z",
        "server": 16,
        "dump": 16,
        "secrets": False,
    }
)
_NAMES = [
    "../x",
    "home/../../x",
    "home/../x",
    "home/a/../../../x",
    "home/..",
    "home/.",
    "home//x",
    "./home/x",
    "/etc/x",
    "//etc/x",
    "/",
    "",
    ".",
    "..",
    "home",
    "home/",
    "home/a/",
    "home/a/./b",
    "x",
    "homex/a",
    "HOME/a",
    "home\\..\\x",
    "..\\x",
    "C:\\x",
    "C:/x",
    "home/.env",
    "home/.ssh/authorized_keys",
    "home/run.json",
    "home/up.lock",
    "home/instance",
    "home/postgresql/data/pg_hba.conf",
    "home/valkey/x",
    "home/run/socket",
    "home/logs/web.log",
    "home/checkpoints/x",
    "home/beat-schedule.db",
    "database.dump/x",
    "database.dump/../home/x",
    "backup.json",
    "backup.json/x",
    "home/" + "a" * 300,
    "home/" + "/".join("a" * 200 for _ in range(30)),
    "home/" + "a/" * 3_000 + "a",
    "home/" + "a/" * 1_400 + "a",
    "home/" + "a/" * 250 + "a",
    "home/" + "é" * 200,
    "home/a" + "\n" * 5 + "/../x",
    "~/x",
    "home/a\udcff/../x",
]
_KINDS = {
    "a link": tarfile.SYMTYPE,
    "a hard link": tarfile.LNKTYPE,
    "a character device": tarfile.CHRTYPE,
    "a block device": tarfile.BLKTYPE,
    "a pipe": tarfile.FIFOTYPE,
    "a contiguous file": tarfile.CONTTYPE,
    "a sparse file": tarfile.GNUTYPE_SPARSE,
    "a kind that is none": b"Z",
    "a volume": b"V",
    "more of a volume": b"M",
}
_LINKS = ["/etc/passwd", "../../outside", "..", "/", "home", "backup.json", "database.dump", ""]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where it is unpacked; what lies beside it stays as it is."""
    (tmp_path / "outside").write_text("mine")
    made = tmp_path / "staging"
    made.mkdir()
    yield made
    assert (tmp_path / "outside").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "outside", "staging"]
    assert [path for path in made.rglob("*") if path.is_symlink() or path.is_fifo()] == []


def _entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def _backup(*entries: tuple[tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """Return a whole backup with more in it than ours have."""
    out = io.BytesIO()
    own = [
        (_entry(MANIFEST), _MANIFEST.model_dump_json().encode()),
        (_entry(DUMP), b"dump"),
        (_entry("home/config.yaml"), b"# mine"),
    ]
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for info, content in [*own, *entries]:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def _refused(raw: bytes, folder: Path) -> bool:
    try:
        _unpack_all(io.BytesIO(raw), folder)
    except Invalid:
        return True
    return False


def test_a_backup_of_ours_is_unpacked(folder: Path) -> None:
    assert not _refused(_backup((_entry("home/agents/a/x"), b"x")), folder)
    assert (folder / "home/agents/a/x").read_bytes() == b"x"


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_names_that_lead_elsewhere_are_refused(folder: Path, form: int) -> None:
    through = [
        name
        for number, name in enumerate(_NAMES)
        if not _refused(_backup((_entry(name), b"no"), form=form), _own(folder, number))
    ]
    # Names of Windows are plain names here.
    assert set(through) <= {"home\\..\\x", "home/a/", "home/"}, through


def _own(folder: Path, number: int) -> Path:
    made = folder / str(number)
    made.mkdir()
    return made


@pytest.mark.parametrize("kind", _KINDS)
def test_what_is_neither_file_nor_folder_is_refused(folder: Path, kind: str) -> None:
    through = []
    for number, link in enumerate(_LINKS):
        info = _entry("home/x", _KINDS[kind], link)
        if not _refused(_backup((info, b"")), _own(folder, number)):
            through.append(link)
    # Readers take a kind that they do not know for a file, which is written as one.
    assert through == [] or kind == "a kind that is none"


@pytest.mark.parametrize("link", _LINKS)
def test_nothing_is_written_through_a_link(folder: Path, link: str) -> None:
    for number, kind in enumerate((tarfile.SYMTYPE, tarfile.LNKTYPE)):
        entries = [(_entry("home/l", kind, link), b""), (_entry("home/l/outside"), b"no")]
        assert _refused(_backup(*entries), _own(folder, number))


def test_the_same_name_twice_is_refused(folder: Path) -> None:
    pairs = [
        ("home/x", "home/x"),
        ("home/config.yaml", "home/x"),
        ("home/x", "home/x/y"),
        ("home/x/y", "home/x"),
        (DUMP, "home/x"),
        (MANIFEST, "home/x"),
    ]
    for number, (first, second) in enumerate(pairs):
        raw = _backup((_entry(first), b"1"), (_entry(second), b"2"))
        assert _refused(raw, _own(folder, number)), (first, second)


def test_names_that_clash_elsewhere_are_two_files_here(folder: Path) -> None:
    raw = _backup((_entry("home/A"), b"1"), (_entry("home/a"), b"2"))
    if not _refused(raw, folder):
        assert {(folder / "home/A").read_bytes(), (folder / "home/a").read_bytes()} == {b"1", b"2"}


def _header(name: str, size: bytes, kind: bytes = b"0") -> bytes:
    """Return a header with any size, signed as tar does."""
    fields = [name.encode().ljust(100, b"\0"), b"0000600\0", b"0000000\0", b"0000000\0"]
    fields += [size.rjust(12, b"0")[:12], b"00000000000\0", b" " * 8, kind, b"\0" * 100]
    raw = b"".join(fields).ljust(257, b"\0") + b"ustar\x0000"
    raw = raw.ljust(512, b"\0")
    return raw[:148] + f"{sum(raw):06o}".encode() + b"\0 " + raw[156:]


def _with_header(header: bytes, content: bytes = b"") -> bytes:
    """Return a backup that ends with a header of our own."""
    whole = _backup()
    end = len(whole.rstrip(b"\0"))
    end += -end % 512
    return whole[:end] + header + content + b"\0" * 1024


def test_sizes_that_are_none_are_refused(folder: Path) -> None:
    sizes = [b"77777777777\0", b"\x80" + b"\xff" * 11, b"\xff" * 12, b"-0000000001\0", b"zzz\0"]
    sizes += [b"\x80" + struct.pack(">xxxQ", 1 << 60), b"00000100000\0", b"\xff" * 11 + b"\0"]
    sizes += [b"0x7fffffff\0", b"1e10\0"]
    through = [
        size
        for number, size in enumerate(sizes)
        if not _refused(_with_header(_header("home/x", size), b"short"), _own(folder, number))
    ]
    # What is no number ends the archive, as its reader has it: nothing of it is written.
    assert all(not list(folder.glob(f"{sizes.index(size)}/home/x")) for size in through)


def test_odd_extended_headers_are_refused_or_do_nothing(folder: Path) -> None:
    extras = [
        {"path": "../../outside"},
        {"path": "/etc/x"},
        {"path": "home/\0/x"},
        {"path": ""},
        {"size": "-1"},
        {"size": "99999999999999"},
        {"size": "x"},
        {"size": "1e3"},
        {"size": "9" * 5000},
        {"linkpath": "/etc/passwd"},
        {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "../x"},
        {"GNU.sparse.map": "0,x", "GNU.sparse.size": "10"},
        {"GNU.sparse.map": "0,99999999999", "GNU.sparse.size": "99999999999"},
        {"GNU.sparse.size": "x"},
        {"GNU.sparse.realsize": "99999999999", "GNU.sparse.major": "1", "GNU.sparse.minor": "0"},
        {"hdrcharset": "BINARY", "path": "../x"},
        {"mtime": "inf"},
        {"mtime": "nan"},
        {"mtime": "9" * 400},
        {"uid": "-1", "gid": "99999999999"},
        {"mode": "7777"},
        {"SCHILY.xattr.security.capability": "x"},
    ]
    for number, extra in enumerate(extras):
        info = _entry("home/x")
        info.pax_headers = extra
        own = _own(folder, number)
        if not _refused(_backup((info, b"no")), own):
            found = {path.relative_to(own).as_posix() for path in own.rglob("*")}
            assert found <= {DUMP, "home", "home/config.yaml", "home/x"}, extra


def test_modes_give_no_more_than_a_person_needs(folder: Path) -> None:
    info = _entry("home/x")
    info.mode = 0o6777
    deep = _entry("home/d", tarfile.DIRTYPE)
    deep.mode = 0o7777
    assert not _refused(_backup((info, b""), (deep, b"")), folder)
    assert (folder / "home/x").stat().st_mode & 0o7777 == 0o700
    assert (folder / "home/d").stat().st_mode & 0o7022 == 0


def test_a_backup_cut_off_anywhere_is_refused(folder: Path) -> None:
    whole = _backup((_entry("home/x"), b"x" * 2000))
    ends = len(whole.rstrip(b"\0"))
    for number, length in enumerate(range(0, ends - 600, 97)):
        raw = whole[:length]
        own = _own(folder, number)
        # Between two entries it looks whole; then what is there is whole.
        if not _refused(raw, own):
            assert (own / DUMP).read_bytes() == b"dump"
            assert not (own / "home/x").exists()


def test_a_workspace_cannot_make_a_backup_that_does_not_come_back(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A command can make what no path of ours reaches: it is left out, the rest is kept."""
    source = tmp_path_factory.mktemp("source")
    (source / "kept").write_text("mine")
    here = os.open(source, os.O_RDONLY)
    for level in range(1_500):
        # Names of more bytes than a path may have, and more levels than Python's stack.
        name = "n" * 250 if level < 20 else "d"
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    try:
        out = io.BytesIO()
        writer = Writer(out)
        writer.add_bytes(MANIFEST, _MANIFEST.model_dump_json().encode())
        writer.add_bytes(DUMP, b"dump")
        writer.add_tree("home/agents", source)
        writer.close()
        assert not _refused(out.getvalue(), folder)
    finally:
        subprocess.run(["rm", "-rf", str(source)], check=True)
    assert (folder / "home/agents/kept").read_text() == "mine"
    assert writer.skipped > 0


def test_what_is_no_backup_is_refused(folder: Path) -> None:
    others = [b"", b"\0" * 10_240, b"\x1f\x8b" + b"\0" * 100, b"BZh9" + b"x" * 900]
    others += [b"PK\x03\x04" + b"\0" * 600, b"{}", b"x" * 511, b"x" * 512, b"x" * 100_000]
    others += [b"\xfd7zXZ\0" + b"\0" * 600, b"\x28\xb5\x2f\xfd" + b"\0" * 600]
    for number, raw in enumerate(others):
        assert _refused(raw, _own(folder, number)), raw[:20]


def test_damage_anywhere_is_refused_or_stays_inside(folder: Path) -> None:
    """300 backups with some bytes changed: Invalid, or no more than what a backup may hold."""
    chance = random.Random(29)
    long = _entry("home/" + "n" * 150 + "/x")
    whole = _backup((long, b"x" * 700), (_entry("home/d", tarfile.DIRTYPE), b""))
    for number in range(300):
        raw = bytearray(whole)
        for _ in range(chance.randint(1, 4)):
            raw[chance.randrange(len(raw))] = chance.randrange(256)
        own = _own(folder, number)
        if not _refused(bytes(raw), own):
            assert {path.name for path in own.iterdir()} <= {DUMP, "home"}
