"""scripts/new-channel: what it writes is found, fails the suite, and has a settings table."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from habakkuk.channels.registry import manifests
from habakkuk.channels.webhook.manifest import WebhookSettings
from scripts.scaffold.channel import Refused, make
from scripts.scaffold.table import settings_table

ROOT = Path(__file__).parents[4]
_NEEDED = ("habakkuk", "scripts", "docs/channels", "tests/contract/channels", "tests/fakes")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The parts of the house that a channel touches."""
    for folder in _NEEDED:
        leave_out = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=leave_out)
    for file in ("setup.cfg", ".ruff.toml", "tests/__init__.py"):
        shutil.copy(ROOT / file, tmp_path / file)
    return tmp_path


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    path = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=os.environ | path,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_new_channel_is_found_and_fails_the_contract_suite(copy: Path) -> None:
    made = _run(copy, "scripts.scaffold", "parrot", "--title", "Parrot Post")
    assert made.returncode == 0, made.stderr
    tested = _run(copy, "pytest", "-q", "-p", "no:cacheprovider", "tests/contract/channels",
                  "-k", "parrot")  # fmt: skip
    assert "errors during collection" not in tested.stdout
    assert tested.returncode == 1, tested.stdout
    # Its facts are sound from the start; what talks to a platform is missing.
    assert "1 passed" in tested.stdout
    assert "parrot_server.py is to be written" in tested.stdout
    styled = _run(copy, "ruff", "check", "habakkuk/channels/parrot", "tests/contract/channels")
    assert styled.returncode == 0, styled.stdout
    table = _run(copy, "scripts.scaffold", "parrot", "--table").stdout
    assert table in (copy / "docs/channels/parrot.md").read_text()


@pytest.mark.parametrize("name", ["Parrot", "1st", "../x", "", "tele gram"])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Refused, match="small letters"):
        make(tmp_path, name, "T")
    assert not {"habakkuk", "docs", "tests"} & {path.name for path in tmp_path.iterdir()}


def test_what_is_there_is_not_touched(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "channels" / "parrot.md"
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    with pytest.raises(Refused, match=r"docs/channels/parrot\.md"):
        make(tmp_path, "parrot", "Parrot")
    assert page.read_text() == "mine"
    assert not (tmp_path / "habakkuk").exists()


def test_a_table_says_what_is_needed_and_what_is_not() -> None:
    assert settings_table(WebhookSettings).splitlines() == [
        "| key | what | default |",
        "|---|---|---|",
        "| `secret_env` | … | needed |",
        "| `url` | … | none |",
        "| `receiver` | … | `plain` |",
        "| `max_characters` | … | `30000` |",
    ]


@pytest.mark.parametrize("name", sorted(manifests()))
def test_every_channel_has_a_table(name: str) -> None:
    settings = manifests()[name].settings
    assert len(settings_table(settings).splitlines()) == 2 + len(settings.model_fields)
