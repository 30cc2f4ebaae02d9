"""Which server program is taken, and what is said when none runs."""

from pathlib import Path

import pytest

from habakkuk.core.errors import ConfigurationError
from habakkuk.ops import binaries
from habakkuk.ops.binaries import find_postgres, find_valkey, reachable


@pytest.fixture
def no_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this machine has installed is not seen."""
    monkeypatch.setattr(binaries, "_DEBIAN", tmp_path / "none")
    monkeypatch.setattr(binaries, "_package", lambda _name: None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "server" / "bin"
    folder.mkdir(parents=True)
    return folder


def program(folder: Path, name: str, says: str, code: int = 0) -> Path:
    file = folder / name
    file.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    file.chmod(0o755)
    return file


@pytest.mark.usefixtures("no_wheels")
def test_a_postgres_of_the_system_is_taken_without_the_wheel(path: Path) -> None:
    file = program(path, "postgres", "postgres (PostgreSQL) 16.4 (Debian 16.4-1)")

    found = find_postgres(search=str(path))

    assert (found.path, found.major, found.version) == (file, 16, "16.4")
    assert not found.bundled


@pytest.mark.usefixtures("no_wheels")
def test_one_that_is_too_old_is_named_with_what_to_install(path: Path) -> None:
    program(path, "postgres", "postgres (PostgreSQL) 14.9")

    with pytest.raises(ConfigurationError, match=r"is version 14\.9.*apt install postgresql"):
        find_postgres(search=str(path))


@pytest.mark.usefixtures("no_wheels")
def test_a_missing_library_is_named(path: Path) -> None:
    program(path, "postgres", "libz.so.1: cannot open shared object file", code=127)

    with pytest.raises(ConfigurationError, match=r"libz\.so\.1.*DATABASE_URL"):
        find_postgres(search=str(path))


@pytest.mark.usefixtures("no_wheels")
def test_data_of_another_major_version_is_not_opened(path: Path) -> None:
    program(path, "postgres", "postgres (PostgreSQL) 18.1")

    with pytest.raises(ConfigurationError, match=r"written by PostgreSQL 17, and only 18"):
        find_postgres(17, search=str(path))


@pytest.mark.usefixtures("no_wheels")
@pytest.mark.parametrize(
    ("name", "says", "major"),
    [
        ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0", 7),
        ("valkey-server", "Valkey server v=8.1.1 sha=00000000:1 malloc=libc bits=64", 8),
    ],
)
def test_redis_and_valkey_of_the_system_are_taken(
    path: Path, name: str, says: str, major: int
) -> None:
    file = program(path, name, says)

    found = find_valkey(search=str(path))

    assert (found.path, found.major) == (file, major)


@pytest.mark.usefixtures("no_wheels")
def test_an_old_redis_is_refused(path: Path) -> None:
    program(path, "redis-server", "Redis server v=6.2.7 sha=00000000:0")

    with pytest.raises(ConfigurationError, match=r"version 6\.2\.7.*REDIS_URL"):
        find_valkey(search=str(path))


def test_the_wheels_come_first(path: Path) -> None:
    program(path, "postgres", "postgres (PostgreSQL) 99.1")
    program(path, "redis-server", "Redis server v=99.0.0 sha=0")

    assert find_postgres(search=str(path)).bundled
    assert find_valkey(search=str(path)).bundled


@pytest.mark.usefixtures("no_wheels")
def test_our_own_user_needs_no_copy(path: Path) -> None:
    program(path, "postgres", "postgres (PostgreSQL) 16.4")
    found = find_postgres(search=str(path))

    assert reachable(found, None) == found
