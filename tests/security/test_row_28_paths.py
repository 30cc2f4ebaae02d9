"""Row 28: paths that lead out of the workspace, also while its folders are swapped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from habakkuk.core.errors import ToolError
from habakkuk.core.interrupt import Interrupt
from habakkuk.tools.core.apply_patch import apply_patch
from habakkuk.tools.core.search_files import search_files
from habakkuk.tools.workspace import Workspace, open_workspace
from tests.fakes.toolbox import call, context

CANARY = b"canary-7f3a: the secret outside"

# Written with {out} for the folder outside, {ws} for the workspace; both exist with real files.
PATHS = [
    "../out/secret",
    "./../out/secret",
    "a/../../out/secret",
    "a/b/../../../out/secret",
    "..",
    "../",
    "a/..",
    "../../../../../../../../etc/passwd",
    "..//out/secret",
    "a/./../../out/secret",
    "{out}/secret",
    "/{out}/secret",
    "//{out}/secret",
    "{ws}/../out/secret",
    "{ws}/a/../../out/secret",
    "{ws}-evil/secret",
    "{ws}evil/secret",
    "{ws}/../ws-evil/secret",
    "/etc/passwd",
    "/etc/shadow",
    "/",
    "//",
    "/proc/self/environ",
    "/proc/self/cwd/secret",
    "/proc/self/root/etc/passwd",
    "/proc/self/fd/0",
    "/proc/thread-self/environ",
    "/dev/stdin",
    "/dev/zero",
    "/dev/fd/0",
    "~/secret",
    "~root/secret",
    "~",
    "link",
    "link/secret",
    "file_link",
    "link/../out/secret",
    "a/link/secret",
    "a/deep_link",
    "absolute_link/secret",
    "dangling",
    "dangling_folder/new",
    "loop",
    "loop/x",
    "proc_link/self/environ",
    "proc_self/environ",
    "proc_root/etc/passwd",
    "fd_link/0",
    "parent_link/out/secret",
    "parent_link/ws/../out/secret",
    "pipe",
    "pipe/x",
    "socket",
    "hard",
    "a/hard",
    "secret\0",
    "../out/secret\0.txt",
    "a\0/../../out/secret",
    "file/",
    "file/../../out/secret",
    "file/x",
    "\ud800/../../out/secret",
    "..\udcff/secret",
    "",
    ".",
    "./",
    "a/" * 70 + "x",
    "x" * 300,
    "x" * 5000,
    "a",
]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "secret").write_bytes(CANARY)
    # Apart from the other: a refused hard link must not hide a followed symbolic one.
    (folder / "linked").write_bytes(CANARY)
    evil = tmp_path / "ws-evil"
    evil.mkdir()
    (evil / "secret").write_bytes(CANARY)
    (tmp_path / "wsevil").symlink_to(evil)
    return folder


@pytest.fixture
def ws(tmp_path: Path, out: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "file").write_bytes(b"inside")
    links = {
        "link": out,
        "a/link": out,
        "absolute_link": out.resolve(),
        "file_link": out / "secret",
        "a/deep_link": Path("../../out/secret"),
        "dangling": out / "new",
        "dangling_folder": out / "newer",
        "loop": Path("loop"),
        "proc_link": Path("/proc"),
        "proc_self": Path("/proc/self"),
        "proc_root": Path("/proc/self/root"),
        "fd_link": Path("/proc/self/fd"),
        "parent_link": Path(".."),
    }
    for name, target in links.items():
        (folder / name).symlink_to(target)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(folder)
        listening.bind("socket")
        os.chdir(here)
    # What an attacker can link to is what he may write; the owner tells whose it is.
    for name in ("hard", "a/hard"):
        (folder / name).hardlink_to(out / "linked")
    if os.geteuid() == 0:
        os.chown(out / "linked", 12345, 12345)
    return folder


def _written(path: str, out: Path, ws: Path) -> str:
    return path.replace("{out}", str(out)).replace("{ws}", str(ws))


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_corpus_is_large_enough() -> None:
    assert len(set(PATHS)) >= 60


@pytest.mark.parametrize("path", PATHS)
def test_reading_stays_inside(path: str, out: Path, ws: Path) -> None:
    if os.geteuid() != 0 and path in {"hard", "a/hard"}:
        pytest.skip("its own hard link is its own file")
    with open_workspace(ws) as workspace:
        if path == "file/":
            assert workspace.read(path, 1000) == b"inside"
            return
        with pytest.raises(ToolError):
            workspace.read(_written(path, out, ws), 1000)


@pytest.mark.parametrize("path", PATHS)
def test_writing_stays_inside(path: str, out: Path, ws: Path) -> None:
    before = _snapshot(out.parent / "out") | _snapshot(out.parent / "ws-evil")
    with open_workspace(ws) as workspace:
        try:
            workspace.write(_written(path, out, ws), b"overwritten")
        except ToolError:
            pass
        else:
            assert path == "file/"
    assert _snapshot(out.parent / "out") | _snapshot(out.parent / "ws-evil") == before
    assert sorted(found.name for found in out.iterdir()) == ["linked", "secret"]


@pytest.mark.parametrize("path", [path for path in PATHS if path not in {"", ".", "./", "a"}])
def test_listing_stays_inside(path: str, out: Path, ws: Path) -> None:
    with open_workspace(ws) as workspace, pytest.raises(ToolError):
        with workspace.folder(_written(path, out, ws)):
            pass


# Each names the path in another way: made, moved to, changed, removed.
PATCHES = [
    "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch",
    "*** Begin Patch\n*** Update File: file\n*** Move to: {}\n*** End Patch",
    "*** Begin Patch\n*** Update File: {}\n@@\n-canary\n+x\n*** End Patch",
    "*** Begin Patch\n*** Delete File: {}\n*** End Patch",
    "--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+x\n",
    "diff --git a/file b/file\nrename from file\nrename to {}\n",
    "diff --git a/x b/x\ncopy from {}\ncopy to stolen\n",
]


@pytest.mark.parametrize("path", PATHS)
def test_patching_stays_inside(path: str, out: Path, ws: Path) -> None:
    """Whatever of it is taken for a path: nothing outside is read or written."""
    before = _snapshot(out.parent / "out") | _snapshot(out.parent / "ws-evil")
    links = sorted(str(found) for found in ws.rglob("*") if found.is_symlink())
    for form in PATCHES:
        call(apply_patch, context(ws), patch=form.format(_written(path, out, ws)))
    assert _snapshot(out.parent / "out") | _snapshot(out.parent / "ws-evil") == before
    assert sorted(found.name for found in out.iterdir()) == ["linked", "secret"]
    assert not (ws / "stolen").exists() or CANARY not in (ws / "stolen").read_bytes()
    assert sorted(str(found) for found in ws.rglob("*") if found.is_symlink()) == links


@pytest.mark.parametrize("path", PATHS)
def test_searching_stays_inside(path: str, out: Path, ws: Path) -> None:
    if os.geteuid() != 0 and path in {"hard", "a/hard"}:
        pytest.skip("its own hard link is its own file")
    output = call(search_files, context(ws), pattern="canary", path=_written(path, out, ws))
    assert "canary-7f3a" not in output.text


@pytest.mark.parametrize("path", ["{ws}/file", "{ws}//file", "./file", "a/../file"])
def test_what_is_inside_is_found_by_its_whole_path(path: str, out: Path, ws: Path) -> None:
    with open_workspace(ws) as workspace:
        if ".." in path:
            with pytest.raises(ToolError, match=r"'\.\.' is not allowed"):
                workspace.read(path, 1000)
        else:
            assert workspace.read(_written(path, out, ws), 1000) == b"inside"


def test_a_workspace_that_is_a_link_is_not_opened(tmp_path: Path, out: Path) -> None:
    (tmp_path / "linked").symlink_to(out)
    with pytest.raises(ToolError), open_workspace(tmp_path / "linked"):
        pass


# Exchanges a folder of the workspace with a link out of it, again and again, in one step each.
_SWAPPER = """
import ctypes, os, sys
from pathlib import Path
ws, out = map(Path, sys.argv[1:])
swap, link = ws / "swap", ws / "swap_link"
link.symlink_to(out)
swap.mkdir()
(swap / "secret").write_bytes(b"inside")
print("swapping", flush=True)
AT_FDCWD, RENAME_EXCHANGE = -100, 2
exchange = ctypes.CDLL(None).renameat2
names = (AT_FDCWD, os.fsencode(swap), AT_FDCWD, os.fsencode(link), RENAME_EXCHANGE)
while exchange(*names) == 0:
    pass
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc and renameat2")


@contextmanager
def _swapping(ws: Path, out: Path) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _SWAPPER, str(ws), str(out)], stdout=subprocess.PIPE
    ) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"swapping\n"
        try:
            yield
        finally:
            assert swapper.poll() is None, "the swapping ended before the test"
            swapper.kill()


def _try_to_read(workspace: Workspace, path: str) -> bytes | None:
    try:
        return workspace.read(path, 1000)
    except ToolError:
        return None


def test_reading_while_parents_are_swapped(ws: Path, out: Path) -> None:
    found = set()
    with open_workspace(ws) as workspace, _swapping(ws, out):
        for _ in range(4000):
            found.add(_try_to_read(workspace, "swap/secret"))
    # Both happened: the folder was there, and it was not. What is outside was never read.
    assert found == {b"inside", None}


def test_writing_while_parents_are_swapped(ws: Path, out: Path) -> None:
    done = 0
    with open_workspace(ws) as workspace, _swapping(ws, out):
        for number in range(1500):
            try:
                workspace.write("swap/secret", b"inside %d" % number)
                done += 1
                workspace.write(f"swap/new/{number % 7}", b"x")
            except ToolError:
                continue
    assert done
    assert (out / "secret").read_bytes() == CANARY
    assert sorted(path.name for path in out.iterdir()) == ["linked", "secret"]


def test_editing_while_parents_are_swapped(ws: Path, out: Path) -> None:
    with open_workspace(ws) as workspace, _swapping(ws, out):
        for _ in range(500):
            try:
                with workspace.alone("swap/secret", Interrupt()):
                    data = workspace.read("swap/secret", 1000)
                    assert data.startswith(b"inside")
                    workspace.write("swap/secret", data[:20] + b"!")
            except ToolError:
                continue
    assert (out / "secret").read_bytes() == CANARY


def test_patching_while_parents_are_swapped(ws: Path, out: Path) -> None:
    done = 0
    with _swapping(ws, out):
        for number in range(300):
            parts = (
                f"*** Add File: swap/new-{number}\n+inside",
                "*** Update File: swap/secret\n@@\n-inside\n+inside",
                f"*** Delete File: swap/new-{number - 2}",
            )
            patch = f"*** Begin Patch\n{parts[number % 3]}\n*** End Patch"
            done += not call(apply_patch, context(ws), patch=patch).is_error
    assert done
    assert (out / "secret").read_bytes() == CANARY
    assert sorted(path.name for path in out.iterdir()) == ["linked", "secret"]
