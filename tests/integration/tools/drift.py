"""Patches made from a seed: files, an edit of them as a diff, and files that drifted meanwhile."""

from __future__ import annotations

import random
import subprocess
from dataclasses import dataclass
from pathlib import Path

Tree = dict[str, bytes]

# Few different lines, so that hunks have more than one place where they could go.
_WORDS = (
    "",
    "}",
    "    return x",
    "import os",
    "\treturn",
    "def f():",
    "x = 1  ",
    "été",
    "a\rb",
    "end",
)
_NAMES = ("a.txt", "b.py", "sub/c.txt", "sub/deep/d e.txt", "été.txt", "-dash", "e'q\"uote.txt")


@dataclass(frozen=True)
class Case:
    """Files as the patch was made for, its text, and the files that it is put on."""

    patch: bytes
    drifted: Tree


def _line(rng: random.Random, few: bool) -> str:
    """Return a line; of `few` different ones, so that a hunk fits in many places."""
    if few:
        return rng.choice(_WORDS[:3])
    return rng.choice(_WORDS) if rng.random() < 0.6 else f"line {rng.randint(0, 99)}"


def _text(rng: random.Random, ends: str, *, few: bool, closed: bool) -> list[str]:
    lines = [_line(rng, few) + ends for _ in range(rng.randint(0, 30))]
    if lines and not closed:
        lines[-1] = lines[-1].rstrip("\r\n") or "last"
    return lines


def _edited(rng: random.Random, lines: list[str], ends: str) -> list[str]:
    made = list(lines)
    for _ in range(rng.randint(1, 4)):
        at = rng.randint(0, len(made))
        gone = rng.choice((0, 0, 1, 2, 5))
        come = [f"new {rng.randint(0, 9)}{ends}" for _ in range(rng.choice((0, 1, 1, 3)))]
        made[at : at + gone] = come
    if made and rng.random() < 0.15:
        made[-1] = made[-1].rstrip("\r\n") or "open"
    return _closed_inside(made, ends)


def _closed_inside(lines: list[str], ends: str) -> list[str]:
    return [line if line.endswith("\n") else line + ends for line in lines[:-1]] + lines[-1:]


def _drifted(rng: random.Random, lines: list[str], ends: str, few: bool) -> list[str]:
    """Put lines in that the patch knows nothing of, or take some out."""
    if rng.random() < 0.4:
        return lines
    made = list(lines)
    at = rng.choice((0, 0, len(made), rng.randint(0, len(made))))
    if rng.random() < 0.7:
        made[at:at] = [_line(rng, few) + ends for _ in range(rng.randint(1, 6))]
    else:
        del made[at : at + rng.randint(1, 4)]
    return _closed_inside(made, ends)


def case(seed: int, folder: Path) -> Case:
    """Make one case; git writes the diff, or diff does."""
    rng = random.Random(seed)
    before: Tree = {}
    after: Tree = {}
    drifted: Tree = {}
    for name in rng.sample(_NAMES, rng.randint(1, 4)):
        ends = rng.choice(("\n", "\n", "\n", "\r\n"))
        few = rng.random() < 0.5
        lines = _text(rng, ends, few=few, closed=rng.random() < 0.8)
        kind = rng.choice(("edit", "edit", "edit", "edit", "add", "delete", "rename"))
        old, late = "".join(lines).encode(), "".join(_drifted(rng, lines, ends, few)).encode()
        new = "".join(_edited(rng, lines, ends)).encode()
        if kind != "add":
            before[name] = old
            drifted[name] = old if kind == "delete" else late
        if kind != "delete":
            after[name if kind != "rename" else f"moved/{name}"] = new
    return Case(_diff(folder, before, after, rng), drifted)


def write_tree(folder: Path, files: Tree) -> None:
    """Put files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def read_tree(folder: Path) -> Tree:
    """Return the files of a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _diff(folder: Path, before: Tree, after: Tree, rng: random.Random) -> bytes:
    write_tree(folder / "a", before)
    write_tree(folder / "b", after)
    context = rng.choice((1, 2, 3, 3, 3, 5))
    if rng.random() < 0.3:
        command = ["diff", "-r", "-u", "-N", f"-U{context}", "a", "b"]
    else:
        command = ["git", "diff", "--no-index", "-M", f"-U{context}", "a", "b"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=_ENV)
    if command[0] == "diff":
        return ran.stdout
    # --no-index names the folders too; a real diff has them as git's own first folder alone.
    return (
        ran.stdout.replace(b" a/a/", b" a/")
        .replace(b" b/b/", b" b/")
        .replace(b'"a/a/', b'"a/')
        .replace(b'"b/b/', b'"b/')
        .replace(b"rename from a/", b"rename from ")
        .replace(b"rename to b/", b"rename to ")
        .replace(b'rename from "a/', b'rename from "')
        .replace(b'rename to "b/', b'rename to "')
    )


_ENV = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


def git_apply(folder: Path, patch: bytes) -> Tree | None:
    """Return what `git apply` makes of the files there, None when it refuses."""
    command = ["git", "apply", "--whitespace=nowarn", "-p1", "-"]
    return _ran(command, folder, patch)


def gnu_patch(folder: Path, patch: bytes) -> Tree | None:
    """Return what `patch` makes of the files there, None when it refuses."""
    command = [
        "patch",
        "-p1",
        "--batch",
        "--forward",
        "--binary",
        "-E",
        "--fuzz=0",
        "--no-backup-if-mismatch",
        "--reject-file=-",
        "--quiet",
    ]
    return _ran(command, folder, patch)


def _ran(command: list[str], folder: Path, patch: bytes) -> Tree | None:
    ran = subprocess.run(
        command,
        cwd=folder,
        input=patch,
        capture_output=True,
        check=False,
        env=_ENV | {"GIT_CEILING_DIRECTORIES": str(folder.parent)},
    )
    return read_tree(folder) if ran.returncode == 0 else None
