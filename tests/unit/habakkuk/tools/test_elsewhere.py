"""Files outside the workspace: no agent gets further by a tool than by its commands."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from habakkuk.core.agent_user import AgentUser
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.errors import ToolError
from habakkuk.tools.commands import Commands
from habakkuk.tools.elsewhere import Limit, read_elsewhere
from habakkuk.tools.sandbox.contract import Ground
from habakkuk.tools.workspace import Workspace

_LIMIT = Limit(100, "that are taken")
_NOBODY = AgentUser(65_534, 65_534)


def _read(path: Path | str, home: Path | None = None, user: AgentUser | None = None) -> bytes:
    # Whoever runs the tests may read what they wrote.
    own = user or AgentUser(os.geteuid(), os.getegid())
    return read_elsewhere(str(path), _LIMIT, Commands({}, home), "habakkuk", lambda: own)


def _open(folder: Path) -> None:
    """Let everybody pass to a folder of this test."""
    for above in (folder, *folder.parents):
        if above.owner() == folder.owner():
            above.chmod(above.stat().st_mode | 0o755)


def test_a_file_elsewhere_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello")
    assert _read(tmp_path / "a.txt") == b"hello"


def test_habakkuk_s_home_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=x")
    with pytest.raises(ToolError, match="no agent reads there"):
        _read(tmp_path / ".env", home=tmp_path)


@pytest.mark.parametrize("path", ["/proc/self/environ", "/sys/kernel/notes", "/dev/zero"])
def test_views_of_the_system_are_not_read(path: str) -> None:
    with pytest.raises(ToolError, match="no agent reads there"):
        _read(path)


def test_no_link_leads_where_it_may_not(tmp_path: Path) -> None:
    home = tmp_path / "house"
    home.mkdir()
    (home / ".env").write_text("TOKEN=x")
    (tmp_path / "link").symlink_to(home)
    with pytest.raises(ToolError, match="link"):
        _read(tmp_path / "link" / ".env", home=home)


@pytest.mark.parametrize("path", ["/etc/../etc/hostname", "~/x", "etc/hostname\0"])
def test_a_path_is_what_it_says(path: str) -> None:
    with pytest.raises(ToolError):
        _read(path)


def test_one_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(101))
    with pytest.raises(ToolError, match="101 bytes, more than the 100 that are taken"):
        _read(tmp_path / "a.bin")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads more than its agents")
def test_as_root_it_is_what_the_agents_user_may_read(tmp_path: Path) -> None:
    _open(tmp_path)
    (tmp_path / "open").write_bytes(b"1")
    (tmp_path / "open").chmod(0o644)
    (tmp_path / "closed").write_bytes(b"2")
    (tmp_path / "closed").chmod(0o640)
    assert _read(tmp_path / "open", user=_NOBODY) == b"1"
    with pytest.raises(ToolError, match="may not read it"):
        _read(tmp_path / "closed", user=_NOBODY)
    tmp_path.chmod(0o700)
    with pytest.raises(ToolError, match="may not read it"):
        _read(tmp_path / "open", user=_NOBODY)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads more than its agents")
def test_as_root_the_file_that_is_opened_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another file may take the place of the one that was looked at."""
    _open(tmp_path)
    name = tmp_path / "file"
    name.write_bytes(b"open")
    name.chmod(0o644)
    secret = tmp_path / "secret"
    secret.write_bytes(b"closed")
    secret.chmod(0o600)
    really_open = Workspace._open

    def swapped(workspace: Workspace, path: str, folder: int, last: str) -> int:
        secret.replace(name)
        return really_open(workspace, path, folder, last)

    monkeypatch.setattr(Workspace, "_open", swapped)
    with pytest.raises(ToolError, match="may not read it"):
        _read(name, user=_NOBODY)


def test_an_agent_in_a_sandbox_stays_in_its_workspace(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"hello")
    agents = {"kept": AgentConfig.model_validate({"sandbox": "workspace"})}
    commands = Commands.on(Ground({}, None), agents)
    with pytest.raises(ToolError, match="kept to its workspace"):
        read_elsewhere(str(tmp_path / "a.txt"), _LIMIT, commands, "kept")
