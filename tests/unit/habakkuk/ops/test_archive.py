from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError, Invalid
from habakkuk.ops.archive import Reader, Writer, unpack


def packed(*infos: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    """Return an archive as somebody else could make it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in infos:
            info.size = len(content) if info.isreg() else 0
            tar.addfile(info, io.BytesIO(content))
    out.seek(0)
    return out


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return info


def unpack_all(source: io.BytesIO, folder: Path) -> None:
    for member, content in Reader(source).members():
        unpack(member, content, folder.joinpath(*member.parts))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "target"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file beside the target, which stays as it is whatever a backup says."""
    file = tmp_path / "outside"
    file.write_text("mine")
    yield file
    assert file.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "outside", "target"]


def test_what_was_packed_comes_back(tmp_path: Path, target: Path) -> None:
    source = tmp_path / "source"
    (source / "a" / "empty").mkdir(parents=True)
    (source / "a" / "ümlaut 😀").write_bytes(b"\x00\xff" * 100_000)
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o755)
    out = io.BytesIO()
    writer = Writer(out)
    writer.add_bytes("first", b"1")
    writer.add_tree("s", source)
    writer.close()
    unpack_all(io.BytesIO(out.getvalue()), target)
    assert (writer.files, writer.skipped) == (2, 0)
    assert (target / "first").read_bytes() == b"1"
    assert (target / "s/a/ümlaut 😀").read_bytes() == b"\x00\xff" * 100_000
    assert (target / "s/a/empty").is_dir()
    assert os.access(target / "s/run", os.X_OK)


def test_a_name_that_is_no_utf8_comes_back(tmp_path: Path, target: Path) -> None:
    name = os.fsdecode(b"\xff\xfe")
    (tmp_path / name).write_text("x")
    out = io.BytesIO()
    writer = Writer(out)
    writer.add_tree(f"s/{name}", tmp_path / name)
    writer.close()
    unpack_all(io.BytesIO(out.getvalue()), target)
    assert (target / "s" / name).read_text() == "x"


def test_links_pipes_and_what_has_gone_are_left_out(tmp_path: Path, outside: Path) -> None:
    source = tmp_path / "target"
    source.mkdir()
    (source / "link").symlink_to(outside)
    (source / "folder").symlink_to(tmp_path)
    os.mkfifo(source / "pipe")
    out = io.BytesIO()
    writer = Writer(out)
    writer.add_tree("s", source)
    writer.add_tree("gone", tmp_path / "gone")
    writer.close()
    assert (writer.files, writer.skipped) == (0, 4)
    assert b"mine" not in out.getvalue()


def test_what_may_not_be_read_is_said_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").write_text("x")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "permission denied")

    monkeypatch.setattr("habakkuk.ops.archive.os.open", refuse)
    with pytest.raises(ConfigurationError, match="closed: cannot be read; run this as the user"):
        Writer(io.BytesIO()).add_tree("s", tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "a/../../outside",
        "/etc/cron.d/x",
        "//x",
        "a//b",
        "./a",
        "a/.",
        "..",
        "",
        "x" * 5000,
    ],
)
def test_names_that_lead_elsewhere_are_refused(target: Path, outside: Path, name: str) -> None:
    with pytest.raises(Invalid):
        unpack_all(packed((entry("first"), b""), (entry(name), b"theirs")), target)


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
    ],
)
def test_only_files_and_folders_are_taken(target: Path, outside: Path, kind: bytes) -> None:
    with pytest.raises(Invalid, match="neither a file nor a folder"):
        unpack_all(packed((entry("a", kind, str(outside)), b"")), target)
    assert not (target / "a").exists()


def test_a_file_through_a_link_is_not_written(target: Path, outside: Path) -> None:
    (target / "link").symlink_to(outside)
    with pytest.raises(Invalid):
        unpack_all(packed((entry("link"), b"theirs")), target)


@pytest.mark.parametrize(
    "names",
    [("a", "a"), ("a", "a/b"), ("a/b", "a")],
)
def test_a_name_comes_once(target: Path, outside: Path, names: tuple[str, str]) -> None:
    with pytest.raises(Invalid, match="twice"):
        unpack_all(packed(*((entry(name), b"x") for name in names)), target)


def test_others_get_no_more_rights_than_to_pass(target: Path) -> None:
    info = entry("a")
    info.mode = 0o7777
    folder = entry("d", tarfile.DIRTYPE)
    folder.mode = 0o7777
    unpack_all(packed((info, b"x"), (folder, b"")), target)
    assert (target / "a").stat().st_mode & 0o7777 == 0o700
    assert (target / "d").stat().st_mode & 0o7777 == 0o751


def test_a_cut_archive_is_an_error(target: Path) -> None:
    whole = packed((entry("a"), b"x" * 10_000)).getvalue()
    with pytest.raises(Invalid):
        unpack_all(io.BytesIO(whole[:5_000]), target)


@pytest.mark.parametrize("content", [b"no tar", os.urandom(4096), b"\x1f\x8b" + b"x" * 600])
def test_what_is_no_archive_is_an_error(target: Path, content: bytes) -> None:
    with pytest.raises(Invalid):
        unpack_all(io.BytesIO(content), target)


def test_a_size_beyond_the_disk_is_refused_before_it_is_written(target: Path) -> None:
    info = entry("a")
    out = io.BytesIO()
    info.size = 2**60
    out.write(info.tobuf(tarfile.PAX_FORMAT))
    out.write(b"x" * 1024)
    out.seek(0)
    with pytest.raises(Invalid, match="does not fit"):
        unpack_all(out, target)
    assert not (target / "a").exists()


def test_a_file_that_grows_or_shrinks_meanwhile_keeps_its_place(
    tmp_path: Path, target: Path
) -> None:
    """A log that a command writes into must not spoil what follows in the archive."""

    class Moving(io.BytesIO):
        def write(self, content: bytes) -> int:  # type: ignore[override]  # writes bytes only
            path.write_bytes(b"s")
            return super().write(content)

    path = tmp_path / "moving"
    path.write_bytes(b"x" * 50_000)
    out = Moving()
    writer = Writer(out)
    writer.add_file("moving", path)
    writer.add_bytes("after", b"still here")
    writer.close()
    unpack_all(io.BytesIO(out.getvalue()), target)
    assert (target / "moving").stat().st_size == 50_000
    assert (target / "after").read_bytes() == b"still here"
