#!/usr/bin/env python3
"""Carry out deploy/Dockerfile in a bare Debian of the same release, without docker.

    sudo scripts/try_image.py [--root FOLDER] [--mirror URL] [--pass FILE]… [-- COMMAND …]

Makes the root with debootstrap (apt install debootstrap), runs the file's RUN lines there, copies
what it copies and then runs COMMAND as its user (by default the command line's --help). Files that
this machine needs to reach its package mirrors are passed on with --pass. It takes some minutes and
1.5 GB. The root is left in FOLDER (./habakkuk-image), which must not exist before. Python comes
from Debian's own packages, where the image has that of its base. No image is made. Tried with

    -- sh -c 'habakkuk up --detach --no-local-model && habakkuk login-link && habakkuk down'

which runs everything there, databases included, as the image's user.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
BASE_PACKAGES = "ca-certificates,python3,python3-venv"
PASSED_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf")


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the file's instructions, their continued lines joined."""
    joined = ""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            continue
        joined += line.removesuffix("\\") + " " if line.endswith("\\") else line
        if not line.endswith("\\") and joined.strip():
            name, _, rest = joined.strip().partition(" ")
            yield name.upper(), rest.strip()
        if not line.endswith("\\"):
            joined = ""


class Root:
    """One Debian root, and where its instructions have come to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = "/"
        self.user = "root"
        self.variables = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}

    def carry_out(self, name: str, rest: str) -> None:
        """Do what one instruction says; an unknown one is an error."""
        if name in {"FROM", "VOLUME", "EXPOSE", "CMD"}:
            return
        print(f"--- {name} {rest}", flush=True)
        getattr(self, f"_{name.lower()}")(rest)

    def run(self, words: list[str]) -> None:
        """Run a program in the root as its present user."""
        given = [f"{name}={value}" for name, value in self.variables.items()]
        subprocess.run(
            [
                *("chroot", f"--userspec={self.user}", str(self.folder)),
                *("env", "LC_ALL=C.UTF-8", *given),
                *("/bin/sh", "-c", 'cd "$0" && exec "$@"', self.work, *words),
            ],
            check=True,
        )

    def _run(self, rest: str) -> None:
        self.run(["/bin/sh", "-c", rest])

    def _env(self, rest: str) -> None:
        for pair in rest.split():
            name, _, value = pair.partition("=")
            self.variables[name] = value.replace("$PATH", self.variables["PATH"])

    def _workdir(self, rest: str) -> None:
        self.work = rest
        self._place(rest).mkdir(parents=True, exist_ok=True)

    def _user(self, rest: str) -> None:
        self.user = f"{rest}:{rest}"

    def _copy(self, rest: str) -> None:
        if rest.startswith("--from="):
            print("--- left out: there are no other images here", flush=True)
            return
        *sources, target = rest.split()
        for name in sources:
            source = PROJECT / name
            place = self._place(str(Path(self.work) / target))
            if target.endswith("/"):
                place /= source.name
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                ignored = shutil.ignore_patterns("__pycache__", "node_modules", "*.pyc")
                shutil.copytree(source, place, dirs_exist_ok=True, ignore=ignored)
            else:
                shutil.copy(source, place)

    def _place(self, inside: str) -> Path:
        return self.folder / inside.lstrip("/")


def release_of(image: str) -> str:
    """Return Debian's release in the name of a base image such as python:3.11-slim-bookworm."""
    return image.rpartition("-")[2]


def prepare(folder: Path, release: str, mirror: str, passed: list[str]) -> None:
    """Make the bare root."""
    if folder.exists():
        raise SystemExit(f"{folder} exists already; remove it, or name another folder by --root")
    options = ["--variant=minbase", f"--include={BASE_PACKAGES}"]
    subprocess.run(["debootstrap", *options, release, str(folder), mirror], check=True)
    for name in (*PASSED_FILES, *passed):
        if Path(name).exists():
            place = folder / name.lstrip("/")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, place)
    for kind, where in (("proc", "proc"), ("tmpfs", "dev/shm")):
        (folder / where).mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", kind, kind, str(folder / where)], check=True)


def main() -> None:
    """Read the Dockerfile and carry it out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=Path("habakkuk-image"))
    parser.add_argument("--mirror", default="http://deb.debian.org/debian")
    parser.add_argument("--pass", dest="passed", action="append", default=[])
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if not options.inside:
        # Mounts in a namespace of our own end with us.
        again = ["unshare", "--mount", sys.executable, __file__, "--inside", *sys.argv[1:]]
        raise SystemExit(subprocess.run(again, check=False).returncode)
    steps = list(instructions((PROJECT / "deploy" / "Dockerfile").read_text()))
    prepare(options.root, release_of(dict(steps)["FROM"]), options.mirror, options.passed)
    root = Root(options.root)
    for name, rest in steps:
        root.carry_out(name, rest)
    command = options.command or json.loads(dict(steps)["CMD"])
    print(f"--- as {root.user}: {' '.join(command)}", flush=True)
    root.run(command)


if __name__ == "__main__":
    main()
