from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.errors import Invalid
from habakkuk.ops.manifest import kept, kept_entries, read_manifest

GOOD = (
    '{"format": 1, "habakkuk": "0.1.0", "revision": "0001", "created": "2026-11-30T04:00:00Z",'
    ' "server": 18, "dump": 18, "secrets": false}'
)


@pytest.mark.parametrize("name", ["config.yaml", "blobs", "agents", "something-new"])
def test_what_people_and_agents_made_is_kept(name: str) -> None:
    assert kept(name, secrets=False)


@pytest.mark.parametrize(
    "name",
    [
        *("postgresql", "valkey", "run", "logs", "procs", "run.json", "up.lock", "instance"),
        "checkpoints",
        # Private keys of variables, which .env is left out for.
        "ssh",
        *("beat-schedule", "beat-schedule.db", "beat-schedule.dat", ".scratch-1", ".run.json.1f"),
    ],
)
def test_what_belongs_to_one_run_or_is_in_the_dump_is_not(name: str) -> None:
    assert not kept(name, secrets=True)


def test_secrets_are_kept_when_asked_for() -> None:
    assert not kept(".env", secrets=False)
    assert kept(".env", secrets=True)


def test_a_link_in_the_home_is_not_followed(home: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (home / "agents").symlink_to(tmp_path / "elsewhere")
    (home / "config.yaml").write_text("")
    assert [entry.name for entry in kept_entries(home, secrets=False)] == ["config.yaml"]


def test_a_home_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    assert list(kept_entries(tmp_path / "none", secrets=True)) == []


def test_a_backup_says_what_made_it() -> None:
    found = read_manifest(GOOD.encode())
    assert (found.habakkuk, found.revision, found.server, found.secrets) == (
        *("0.1.0", "0001", 18),
        False,
    )


@pytest.mark.parametrize(
    "raw",
    [
        *("", "{}", "[]", "\x00", GOOD[:-1]),
        GOOD.replace('"format": 1', '"format": 2'),
        GOOD.replace("}", ', "more": 1}'),
        GOOD.replace("18", '"x"'),
    ],
)
def test_what_says_something_else_is_refused(raw: str) -> None:
    with pytest.raises(Invalid, match="no backup of Habakkuk, or one of a later form"):
        read_manifest(raw.encode())
