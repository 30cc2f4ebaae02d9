"""The files of a home."""

import errno
import os
import stat
from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops import home as home_module
from habakkuk.ops.home import (
    HomeFolder,
    data_folder,
    instance_id,
    last_lines,
    make_root_data,
    open_log,
    prepare_home,
    write_private,
)


def test_a_new_home_is_closed_to_others(tmp_path: Path) -> None:
    home = prepare_home(tmp_path / "a" / "home")

    assert stat.S_IMODE(home.root.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.logs.stat().st_mode) == 0o700


def test_a_home_that_is_a_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(ConfigurationError, match="HABAKKUK_HOME"):
        prepare_home(tmp_path / "file")


def test_the_instance_stays_the_same(home: Path) -> None:
    first = instance_id(HomeFolder(home))

    assert instance_id(HomeFolder(home)) == first
    assert len(first) == 16
    assert stat.S_IMODE((home / "instance").stat().st_mode) == 0o600


def test_homes_have_instances_of_their_own(tmp_path: Path) -> None:
    homes = [prepare_home(tmp_path / name) for name in ("one", "two")]

    assert instance_id(homes[0]) != instance_id(homes[1])


def test_root_does_not_open_the_database_of_an_ordinary_user(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "postgresql").mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    with pytest.raises(ConfigurationError, match="as that user"):
        data_folder(HomeFolder(home))


def test_an_ordinary_users_data_lies_in_the_home(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert data_folder(HomeFolder(home)) == home


def test_a_failed_write_leaves_the_old_content_and_no_rest(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full_disk(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = home / "file"
    write_private(path, b"old")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full_disk)
        with pytest.raises(OSError, match="No space"):
            write_private(path, b"new")

    assert path.read_bytes() == b"old"
    assert [entry.name for entry in home.iterdir()] == ["file"]


def test_a_log_that_grew_large_is_set_aside_when_opened(home: Path) -> None:
    path = home / "web.log"
    path.write_bytes(b"x" * 5_000_001)

    os.close(open_log(path))

    assert path.stat().st_size == 0
    assert path.with_name("web.log.1").stat().st_size == 5_000_001


def test_three_old_logs_are_kept(home: Path) -> None:
    path = home / "web.log"
    for number in range(5):
        path.write_bytes(str(number).encode() * 5_000_001)
        os.close(open_log(path))

    kept = {p.name: p.read_bytes()[:1] for p in home.iterdir() if p != path}
    assert kept == {"web.log.1": b"4", "web.log.2": b"3", "web.log.3": b"2"}


def test_a_small_log_is_continued(home: Path) -> None:
    path = home / "web.log"
    path.write_text("first\n")

    handle = open_log(path)
    os.write(handle, b"second\n")
    os.close(handle)

    assert path.read_text() == "first\nsecond\n"


def test_the_last_lines_of_a_log_are_bounded(home: Path) -> None:
    path = home / "web.log"
    path.write_bytes(b"\xff\xfe no utf-8\n\n" + b"y" * 1000 + b"\nlast\n")

    lines = last_lines(path, 2)

    assert lines == ["y" * 300, "last"]
    assert last_lines(home / "missing.log") == []


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_the_databases_user_may_pass_to_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
) -> None:
    monkeypatch.setattr(home_module, "ROOT_DATA", tmp_path / "lib" / "habakkuk")
    before = os.umask(umask)
    try:
        folder = make_root_data("servers")
    finally:
        os.umask(before)

    assert stat.S_IMODE(folder.stat().st_mode) & 0o011 == 0o011
    assert stat.S_IMODE(folder.parent.stat().st_mode) & 0o011 == 0o011


def test_a_folder_of_data_that_was_closed_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    monkeypatch.setattr(home_module, "ROOT_DATA", tmp_path / "data")

    make_root_data()

    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o755
