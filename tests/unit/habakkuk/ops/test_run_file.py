"""run.json: who runs, and what the CLI takes from it."""

import dataclasses
import os
import stat
from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment
from habakkuk.core.config.settings import Settings, load_settings
from habakkuk.core.errors import ConfigurationError
from habakkuk.ops.home import HomeFolder
from habakkuk.ops.identity import ProcessIdentity, own_identity
from habakkuk.ops.run_file import (
    RunFile,
    browser_address,
    read_last_run,
    read_run,
    resolve_settings,
    write_run,
)


def a_run(**changes: object) -> RunFile:
    run = RunFile(
        up=own_identity(),
        state="running",
        listen="127.0.0.1:9191",
        database_url="postgresql+psycopg2://habakkuk@/habakkuk?host=/run/x",
        redis_url="unix:///run/x/valkey.sock?db=0",
        processes={"web": ProcessIdentity(4711, "some start")},
    )
    return dataclasses.replace(run, **changes)  # type: ignore[arg-type]  # any field


def settings_for(home: Path, **variables: str) -> Settings:
    return load_settings(read_environment({"HABAKKUK_HOME": str(home), **variables}))


def test_what_is_written_is_read_back(home: Path) -> None:
    write_run(HomeFolder(home), a_run())

    assert read_run(home) == a_run()


def test_only_its_owner_may_read_it(home: Path) -> None:
    write_run(HomeFolder(home), a_run())

    assert stat.S_IMODE((home / "run.json").stat().st_mode) == 0o600


def test_nothing_else_is_left_beside_it(home: Path) -> None:
    write_run(HomeFolder(home), a_run())
    write_run(HomeFolder(home), a_run(state="starting"))

    assert [path.name for path in home.iterdir()] == ["run.json"]


def test_the_file_of_a_reused_pid_counts_as_none(home: Path) -> None:
    write_run(HomeFolder(home), a_run(up=ProcessIdentity(os.getpid(), "an earlier start")))

    assert read_run(home) is None
    assert read_last_run(home) is not None


@pytest.mark.parametrize("content", ["", "{", "[]", '{"up": 1}', "\x00"])
def test_a_damaged_file_counts_as_none(home: Path, content: str) -> None:
    (home / "run.json").write_text(content)

    assert read_run(home) is None


def test_a_missing_home_has_no_run(tmp_path: Path) -> None:
    assert read_run(tmp_path / "missing") is None


def test_settings_are_completed_from_the_running_up(home: Path) -> None:
    write_run(HomeFolder(home), a_run())

    resolved = resolve_settings(settings_for(home))

    assert resolved.database_url == "postgresql+psycopg2://habakkuk@/habakkuk?host=/run/x"
    assert resolved.redis_url == "unix:///run/x/valkey.sock?db=0"
    assert resolved.listen == ("127.0.0.1", 9191)


def test_the_environment_comes_first(home: Path) -> None:
    write_run(HomeFolder(home), a_run())

    resolved = resolve_settings(
        settings_for(home, REDIS_URL="redis://127.0.0.1:1", HABAKKUK_LISTEN="127.0.0.1:2")
    )

    assert resolved.redis_url == "redis://127.0.0.1:1"
    assert resolved.listen == ("127.0.0.1", 2)
    assert resolved.database_url == "postgresql+psycopg2://habakkuk@/habakkuk?host=/run/x"


def test_an_environment_that_names_both_databases_needs_no_up(home: Path) -> None:
    settings = settings_for(home, DATABASE_URL="postgresql://a/b", REDIS_URL="redis://c")

    assert resolve_settings(settings) == settings


def test_without_both_the_way_to_start_is_named(home: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"not running.*\./scripts/up"):
        resolve_settings(settings_for(home))


def test_an_up_that_is_still_starting_is_named(home: Path) -> None:
    write_run(HomeFolder(home), a_run(state="starting", database_url=None, redis_url=None))

    with pytest.raises(ConfigurationError, match="still starting"):
        resolve_settings(settings_for(home))


def test_passwords_are_not_in_its_repr() -> None:
    assert "valkey.sock" not in repr(a_run())


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        (("127.0.0.1", 8484), "http://127.0.0.1:8484"),
        (("0.0.0.0", 80), "http://127.0.0.1:80"),
        (("::", 8484), "http://[::1]:8484"),
        (("::1", 8484), "http://[::1]:8484"),
    ],
)
def test_the_address_is_one_that_this_machine_reaches(
    listen: tuple[str, int], address: str
) -> None:
    assert browser_address(listen) == address
