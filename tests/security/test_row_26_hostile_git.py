"""Row 26: what a hostile repository, or a file that git reads, gets run while checkpoints are made.

Each trap writes a mark when it is sprung. That the traps work is tried with a plain git first: a
trap that nothing springs shows nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from habakkuk.core.agent_user import find_agent_user
from habakkuk.core.config.schema import AgentConfig
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.checkpoints.service import Checkpoints, turn_id
from habakkuk.tools.checkpoints.types import Kind, Label

PLAIN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent",
         "GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@x", "GIT_COMMITTER_NAME": "x",
         "GIT_COMMITTER_EMAIL": "x@x"}  # fmt: skip


def git(folder: Path, *words: str, **variables: str) -> None:
    subprocess.run(
        ["git", *words], cwd=folder, env=PLAIN | variables, check=False, capture_output=True
    )


class Scene:
    """A workspace that anybody may write to, and the place of the marks."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "house"
        self.workspace = self.home / "agents/a/workspace"
        self.workspace.mkdir(parents=True)
        # Where the agents' user may write: a test's own folder is closed to it.
        self.marks = Path(tempfile.mkdtemp(prefix="habakkuk-marks-"))
        self.marks.chmod(0o777)
        self.kept = Checkpoints(self.home, {"a": AgentConfig()}, lambda _: self.workspace)

    def trap(self, name: str) -> str:
        """Return the path of a program that leaves a mark."""
        program = self.marks / f"{name}.sh"
        program.write_text(f"#!/bin/sh\ntouch {self.marks}/sprung-{name}\ncat\n")
        program.chmod(0o755)
        return str(program)

    @property
    def sprung(self) -> list[str]:
        return sorted(path.name for path in self.marks.glob("sprung-*"))

    def repository(self, folder: str, **config: str) -> Path:
        place = self.workspace / folder
        place.mkdir(parents=True, exist_ok=True)
        git(place, "init", "-q", ".")
        (place / "tracked").write_text("1\n")
        git(place, "add", "-A")
        git(place, "commit", "-qm", "x")
        for name, value in config.items():
            git(place, "config", name.replace("__", "."), value)
        (place / "tracked").write_text("2\n")
        return place


def fsmonitor_nested(scene: Scene) -> None:
    scene.repository("sub", core__fsmonitor=scene.trap("nested"))


def fsmonitor_at_the_top(scene: Scene) -> None:
    scene.repository(".", core__fsmonitor=scene.trap("top"))


def hooks(scene: Scene) -> None:
    place = scene.repository(".", core__hooksPath=str(scene.marks / "hooks"))
    (scene.marks / "hooks").mkdir()
    for name in ("pre-commit", "post-index-change", "post-checkout", "reference-transaction"):
        for folder in (scene.marks / "hooks", place / ".git/hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(Path(scene.trap(f"hook-{name}")).read_text())
            (folder / name).chmod(0o755)


def filters(scene: Scene) -> None:
    trap = scene.trap("filter")
    scene.repository(".", filter__x__clean=trap, filter__x__smudge=trap, diff__x__textconv=trap,
                     diff__x__command=trap, merge__x__driver=trap)  # fmt: skip
    (scene.workspace / ".gitattributes").write_text("* filter=x diff=x merge=x\n")


def buried_bare(scene: Scene) -> None:
    buried = scene.workspace / "docs/buried"
    buried.mkdir(parents=True)
    git(buried, "init", "-q", "--bare", ".")
    git(buried, "config", "core.bare", "false")
    git(buried, "config", "core.worktree", "..")
    git(buried, "config", "core.fsmonitor", scene.trap("buried"))


def gitdir_file(scene: Scene) -> None:
    place = scene.repository("real", core__fsmonitor=scene.trap("gitdir"))
    (scene.workspace / "linked").mkdir()
    (scene.workspace / "linked/.git").write_text(f"gitdir: {place}/.git\n")
    (scene.workspace / "linked/file").write_text("x")


def submodule(scene: Scene) -> None:
    place = scene.repository("module", core__fsmonitor=scene.trap("submodule"))
    git(scene.workspace, "init", "-q", ".")
    git(
        scene.workspace,
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        str(place),
        "module",
    )
    (scene.workspace / ".gitmodules").write_text(
        '[submodule "module"]\n\tpath = module\n\turl = ./module\n\tupdate = !touch '
        f"{scene.marks}/sprung-update\n"
    )


def config_in_the_environment_of_files(scene: Scene) -> None:
    """A .gitconfig in the workspace, which is the HOME of its commands."""
    trap = scene.trap("home")
    (scene.workspace / ".gitconfig").write_text(f"[core]\n\tfsmonitor = {trap}\n\tpager = {trap}\n")
    (scene.workspace / "file").write_text("x")


TRAPS = [
    fsmonitor_nested,
    fsmonitor_at_the_top,
    hooks,
    filters,
    buried_bare,
    gitdir_file,
    submodule,
    config_in_the_environment_of_files,
]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    shutil.rmtree(made.marks)


@pytest.mark.parametrize("trap", TRAPS)
def test_nothing_of_a_workspace_is_run_by_a_checkpoint(
    scene: Scene, trap: Callable[[Scene], None]
) -> None:
    trap(scene)
    for path in scene.marks.glob("sprung-*"):
        path.unlink()
    inner = _contents(scene.workspace)
    for number in range(2):
        scene.kept.before("a", Label(turn_id(str(number)), Kind.TURN), Interrupt())
        assert scene.kept.problem("a") is None
        (scene.workspace / f"change-{number}").write_text("x")
    scene.kept.preview("a", turn_id("0"))
    scene.kept.rollback("a", turn_id("0"))
    scene.kept.clear(Interrupt())
    assert scene.sprung == []
    assert {k: v for k, v in _contents(scene.workspace).items() if "change-" not in k} == inner


@pytest.mark.parametrize(
    ("trap", "words"),
    [
        (fsmonitor_at_the_top, ["status"]),
        (hooks, ["commit", "-qam", "y"]),
        (filters, ["add", "-A"]),
    ],
)
def test_the_traps_work(scene: Scene, trap: Callable[[Scene], None], words: list[str]) -> None:
    trap(scene)
    git(scene.workspace, *words)
    assert scene.sprung


def test_a_nested_repositorys_trap_works_on_a_shadow_of_no_care(
    scene: Scene, tmp_path: Path
) -> None:
    """What was measured: `git status` and `git diff` of a shadow repository ran it."""
    fsmonitor_nested(scene)
    shadow = {"GIT_DIR": str(tmp_path / "careless"), "GIT_WORK_TREE": str(scene.workspace)}
    git(scene.workspace, "init", "-q", **shadow)
    git(scene.workspace, "add", "-A", **shadow)
    git(scene.workspace, "status", **shadow)
    assert scene.sprung


@pytest.mark.skipif(os.geteuid() != 0, reason="whom git runs as is chosen by root")
def test_git_never_runs_as_root(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in git's place writes down who it is, and that it sees none of root's home."""
    program = scene.marks / "git"
    program.write_text(f'#!/bin/sh\n{{ id -u; id -G; }} >> {scene.marks}/who\nexec git "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda _: str(program))
    (scene.marks / "who").touch()
    (scene.marks / "who").chmod(0o666)
    scene.kept.before("a", Label(turn_id("1"), Kind.TURN), Interrupt())
    user = find_agent_user()
    assert user is not None
    assert set((scene.marks / "who").read_text().split()) == {str(user.uid), str(user.gid)}


def _contents(folder: Path) -> dict[str, bytes]:
    """Return every file with its mode: the workspace's own .git is neither read nor written."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        + bytes([stat.S_IMODE(path.lstat().st_mode) & 1])
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }
