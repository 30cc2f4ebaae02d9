"""Making a workspace, and whose it is. Paths that lead out of one: tests/security."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from habakkuk.core.agent_user import find_agent_user
from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt, Interrupted, Reason
from habakkuk.tools.paths import inside
from habakkuk.tools.workspace import open_workspace, prepare_workspace

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="root alone can give files away")


def test_it_is_made_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "a" / "workspace"
    prepare_workspace(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "agents").stat().st_mode & 0o777 == 0o711


def test_making_it_again_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    prepare_workspace(folder)
    (folder / "a").write_text("x")
    before = (folder / "a").stat()
    prepare_workspace(folder)
    assert (folder / "a").stat() == before


@only_root
def test_as_root_it_and_what_lies_in_it_go_to_the_agents_user(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file").touch()
    (folder / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "outside").touch()
    prepare_workspace(folder)
    user = find_agent_user()
    assert user is not None
    for path in (folder, folder / "below", folder / "below" / "file", folder / "link"):
        assert path.lstat().st_uid == user.uid
    assert (tmp_path / "outside").stat().st_uid == 0


@only_root
def test_a_file_with_a_second_name_elsewhere_is_not_given_away(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (tmp_path / "outside").touch()
    (folder / "hard").hardlink_to(tmp_path / "outside")
    prepare_workspace(folder)
    assert (tmp_path / "outside").stat().st_uid == 0


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("a", ("a",)),
        ("a/b", ("a", "b")),
        ("./a//b/", ("a", "b")),
        (".", ()),
        ("", ()),
        ("/ws", ()),
        ("/ws/a", ("a",)),
        ("//ws/a", ("a",)),
        ("...", ("...",)),
        ("a b\n", ("a b\n",)),
        (".~", (".~",)),
    ],
)
def test_a_path_leads_through_these_names(path: str, names: tuple[str, ...]) -> None:
    assert inside(path, Path("/ws")) == names


@pytest.mark.parametrize("path", ["..", "a/../b", "/", "/w", "/wsx", "/ws/..", "~", "~a", "a\0"])
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ToolError):
        inside(path, Path("/ws"))


def test_an_edit_that_waits_for_another_can_be_interrupted(tmp_path: Path) -> None:
    interrupt = Interrupt()
    with open_workspace(tmp_path / "w") as workspace:
        workspace.write("a", b"x")
        held = os.open(tmp_path / "w", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        interrupt.trip(Reason.CANCELLED)
        with pytest.raises(Interrupted), workspace.alone("a", interrupt):
            pass
        os.close(held)


def test_a_workspace_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ToolError, match="file/w"), open_workspace(tmp_path / "file" / "w"):
        pass
