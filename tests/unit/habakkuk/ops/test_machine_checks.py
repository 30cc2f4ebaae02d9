"""The doctor's checks that need no server."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from habakkuk.core.agent_user import AgentUser
from habakkuk.ops import machine_checks
from habakkuk.ops.findings import Verdict
from habakkuk.ops.machine_checks import check_agent_wall, check_disk, check_home, check_secrets


def test_a_closed_home_is_right(home: Path) -> None:
    assert check_home(home).verdict is Verdict.OK


def test_a_home_that_others_may_enter_is_named_with_the_command(home: Path) -> None:
    home.chmod(0o755)

    finding = check_home(home)

    assert finding.verdict is Verdict.WARN
    assert finding.advice == f"chmod 700 {home}"


def test_keys_that_others_may_read_are_named_with_the_command(home: Path) -> None:
    (home / ".env").write_text("OPENAI_API_KEY=x\n")
    (home / ".env").chmod(0o644)

    finding = check_secrets(home)

    assert finding.verdict is Verdict.WARN
    assert finding.advice == f"chmod 600 {home / '.env'}"


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    def give(size: int) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=size))

    return give


@pytest.mark.parametrize(
    ("size", "verdict"),
    [(5_000_000_000, Verdict.OK), (900_000_000, Verdict.WARN), (100_000_000, Verdict.FAIL)],
)
def test_a_full_disk_fails_and_a_scarce_one_warns(
    home: Path, free: Callable[[int], None], size: int, verdict: Verdict
) -> None:
    free(size)

    assert check_disk(home / "not" / "there").verdict is verdict


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Act as root or not, with these walls open, on a machine with or without the agents' user."""

    def act(*walls: str, root: bool, agent: bool = True) -> None:
        monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)
        monkeypatch.setattr(machine_checks, "open_walls", lambda _home: list(walls))
        found = AgentUser(900, 900) if agent else None
        monkeypatch.setattr(machine_checks, "find_agent_user", lambda: found)

    return act


def test_an_ordinary_user_is_told_what_commands_can_read_and_how_to_change_it(
    home: Path, user: Callable[..., None]
) -> None:
    user("they can read .env", "they can open sockets", "run as root", root=False)

    finding = check_agent_wall(home)

    assert finding.verdict is Verdict.WARN
    assert finding.found == "they can read .env\nthey can open sockets"
    assert finding.advice == "run as root"


def test_root_with_every_wall_is_right(home: Path, user: Callable[..., None]) -> None:
    user(root=True)
    assert check_agent_wall(home).verdict is Verdict.OK


def test_root_without_the_agents_user_fails(home: Path, user: Callable[..., None]) -> None:
    user("the user habakkuk-agent is missing", root=True, agent=False)

    finding = check_agent_wall(home)

    assert finding.verdict is Verdict.FAIL
    assert "./scripts/up" in finding.advice


def test_files_that_commands_could_read_as_root_are_named(
    home: Path, user: Callable[..., None]
) -> None:
    user("others can read 1 of Habakkuk's files", root=True)
    assert check_agent_wall(home).verdict is Verdict.WARN
