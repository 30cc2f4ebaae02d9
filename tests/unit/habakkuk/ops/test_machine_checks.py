"""The doctor's checks that need no server."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from habakkuk.ops.findings import Verdict
from habakkuk.ops.machine_checks import check_disk, check_home, check_secrets


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
