"""Row 24: what one approval covers. A first word says nothing of what runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.tools.fingerprint import fingerprint, may_repeat

WRAPPED = [
    "echo x | node",
    "env -S 'ls'",
    "env bash -c ls",
    "env A=b ls",
    "bash -c ls",
    "sh -c 'ls'",
    "zsh -c ls",
    "/bin/zsh -c ls",
    "busybox ls",
    "sudo ls",
    "nohup ls",
    "xargs ls",
    "find . -exec ls {} ;",
    "python3 x.py",
    "node x.js",
    "perl x.pl",
    "awk 1 x",
    "sed -n 1e x",
    "git status",
    "make",
    "npm test",
    "ssh host ls",
    "ls $\\\n(id)",
    "ls $(id)",
    "ls `id`",
    "cat <<END\n$(id)\nEND",
    "cat << END\n$PS4\nEND",
    "ls; id",
    "ls && id",
    "ls & id",
    "ls\nid",
    "ls > x",
    "ls *",
    "ls ?",
    "ls [a]",
    "ls {a,b}",
    "ls ~",
    "A=b ls",
    "SHELLOPTS=xtrace PS4='$(id)' ls",
    "./ls",
    "/tmp/ls",
    "l\\s",
    "'ls'",
    "!ls",
    "timeout 5 ls",
    "time ls",
    "exec ls",
    "eval ls",
    "source x",
    ". x",
]


@pytest.mark.parametrize("command", WRAPPED)
def test_always_is_not_offered_for_what_may_run_something_else(command: str) -> None:
    assert not may_repeat({"command": command})


@pytest.mark.parametrize("command", WRAPPED)
def test_an_approval_covers_the_very_bytes(command: str, tmp_path: Path) -> None:
    approved = fingerprint("exec", {"command": command}, tmp_path)
    for other in (f"{command} ", f" {command}", f"{command};id", command.upper(), f"{command}\n"):
        assert fingerprint("exec", {"command": other}, tmp_path) != approved
    assert fingerprint("exec", {"command": command, "cwd": "x"}, tmp_path) != approved
    assert fingerprint("exec", {"command": command}, tmp_path / "x") != approved
