"""What an approval is bound to, and when it may cover a session (K57, security row 24)."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.tools.fingerprint import fingerprint, may_repeat


def test_the_order_of_arguments_does_not_matter(tmp_path: Path) -> None:
    one = fingerprint("exec", {"command": "ls", "cwd": "."}, tmp_path)
    assert one == fingerprint("exec", {"cwd": ".", "command": "ls"}, tmp_path)


@pytest.mark.parametrize(
    "changed",
    [
        ("exec2", {"command": "ls"}),
        ("exec", {"command": "ls "}),
        ("exec", {"command": "ls", "cwd": "."}),
        ("exec", {"command": "ls -a"}),
    ],
)
def test_any_change_is_another_call(tmp_path: Path, changed: tuple[str, dict[str, str]]) -> None:
    name, arguments = changed
    assert fingerprint("exec", {"command": "ls"}, tmp_path) != fingerprint(
        name, dict(arguments), tmp_path
    )


def test_another_folder_is_another_call(tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert fingerprint("exec", {"command": "ls"}, tmp_path) != fingerprint(
        "exec", {"command": "ls"}, other
    )


@pytest.mark.parametrize("command", ["./run.sh", "run.sh --fast", "sh run.sh", "cat 'run.sh'"])
def test_a_script_that_changed_is_another_call(tmp_path: Path, command: str) -> None:
    script = tmp_path / "run.sh"
    script.write_text("echo one")
    before = fingerprint("exec", {"command": command}, tmp_path)
    script.write_text("echo two")
    assert fingerprint("exec", {"command": command}, tmp_path) != before


def test_a_script_below_the_named_folder_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    script = tmp_path / "sub" / "run.sh"
    script.write_text("echo one")
    arguments = {"command": "./run.sh", "cwd": "sub"}
    before = fingerprint("exec", arguments, tmp_path)
    script.write_text("echo two")
    assert fingerprint("exec", arguments, tmp_path) != before


@pytest.mark.parametrize(
    "command",
    [
        "sh -c ls",
        "zsh -c 'ls'",
        "/bin/zsh -c ls",
        "bash",
        "env ls",
        "env -S ls",
        "env bash -c ls",
        "busybox sh",
        "python3 x.py",
        "python3.11 x.py",
        "node x.js",
        "perl -e 1",
        "sudo ls",
        "xargs rm",
        "find . -delete",
        "nohup ls",
        "timeout 5 ls",
        "awk 1 x",
        "git status",
        "make all",
        "ssh host ls",
        "ls; rm x",
        "ls && rm x",
        "echo x | node",
        "ls $HOME",
        "ls `id`",
        "ls $(id)",
        "ls *",
        "ls > out",
        "ls \\\n-a",
        "X=1 ls",
        "cat <<E\n$(id)\nE",
        "./run.sh",
        "/usr/local/bin/thing",
        "",
    ],
)
def test_shells_interpreters_wrappers_and_syntax_never_cover_a_session(command: str) -> None:
    assert not may_repeat({"command": command})


@pytest.mark.parametrize("command", ["ls -la notes", "date", "df -h", "uptime", "wc -l a.txt"])
def test_plain_words_may_cover_a_session(command: str) -> None:
    assert may_repeat({"command": command})


def test_calls_without_a_command_may_cover_a_session() -> None:
    assert may_repeat({"path": "a.txt", "content": "x"})
