"""A worker that is killed while a patch of several files is put in place."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

FILES = ("a.txt", "b.txt", "c.txt")
_PROGRAM = """
import sys
from pathlib import Path
from habakkuk.core.failpoints import Failpoints
from habakkuk.tools.core.apply_patch import apply_patch
from tests.fakes.toolbox import call, context, services
where = Path(sys.argv[1])
given = services(where, failpoints=Failpoints(sys.argv[2]))
print(call(apply_patch, context(where, given), patch=sys.stdin.read()).text)
"""
PATCH = (
    "*** Begin Patch\n"
    + "".join(f"*** Update File: {name}\n@@\n-old\n+new\n" for name in FILES)
    + "*** Delete File: d.txt\n*** End Patch\n"
)


@pytest.mark.parametrize("step", [1, 2, 3, 4])
def test_every_file_is_whole_and_the_steps_before_stand(tmp_path: Path, step: int) -> None:
    """What `Workspace.change` promises: some are new and the rest are as they were."""
    folder = tmp_path / "w"
    folder.mkdir()
    for name in (*FILES, "d.txt"):
        (folder / name).write_text("old\n" * 1000 if name == "d.txt" else "old\nrest\n")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), f"patch.step.after=#{step}"],
        input=PATCH, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    texts = [(folder / name).read_text() for name in FILES]
    assert texts == ["new\nrest\n"] * min(step, 3) + ["old\nrest\n"] * (3 - min(step, 3))
    assert (folder / "d.txt").exists() is (step < 4)


def test_a_change_that_cannot_be_prepared_leaves_neither_files_nor_folders(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "file").write_text("x\n")
    patch = (
        "*** Begin Patch\n*** Add File: new/deep/a\n+a\n*** Add File: file/b\n+b\n*** End Patch\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(folder), ""],
        input=patch, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert "is a symbolic link or no folder" in done.stdout
    assert [path.name for path in folder.iterdir()] == ["file"]
