"""What an approval is bound to, and when it may cover a session (K57, security row 24)."""

from __future__ import annotations

import os
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


@pytest.mark.parametrize("command", ["./run.sh", "run.sh --fast", "sh run.sh", "sh 'run.sh'"])
def test_a_script_that_changed_is_another_call(tmp_path: Path, command: str) -> None:
    script = tmp_path / "run.sh"
    script.write_text("echo one")
    before = fingerprint("exec", {"command": command}, tmp_path)
    script.write_text("echo two")
    assert fingerprint("exec", {"command": command}, tmp_path) != before


@pytest.mark.parametrize(
    "command",
    [
        "tail -n 100 app.log",
        "tail app.log | grep -c 'no disk'",
        "grep 'a|b' app.log 2>&1 | head; wc -l < app.log",
        "date && cat app.log 2>/dev/null",
    ],
)
def test_a_log_that_grows_is_no_other_call(tmp_path: Path, command: str) -> None:
    """No program here runs what it reads; while it grows, no answer would ever be for it."""
    log = tmp_path / "app.log"
    log.write_text("one")
    before = fingerprint("exec", {"command": command}, tmp_path)
    log.write_text("one two")
    assert fingerprint("exec", {"command": command}, tmp_path) == before


@pytest.mark.parametrize(
    "command",
    [
        "cat run.sh | sh",
        "cat run.sh|sh",
        "cat run.sh |& bash",
        "date;./run.sh",
        "date & ./run.sh",
        "date\n./run.sh",
        "date \\\n; ./run.sh",
        "echo $(sh run.sh)",
        "echo `sh run.sh`",
        "cat <(sh run.sh)",
        "(sh run.sh)",
        "ls:/run.sh; cat ls:/run.sh run.sh; ls:/x",
        "echo a' 'b ; sh run.sh 'x'",
        "date;>out ./run.sh",
        "date;<run.sh sh",
        "date 2>&1 ./run.sh; ./run.sh",
        "cat run.sh > .profile",
        "cp run.sh .profile",
        "uniq run.sh .profile",
        "printf -v PATH . ; run.sh",
        "{ sh run.sh; }",
        "date > out || . run.sh",
        "> out ./run.sh",
        "2>&1 ./run.sh",
        "X=1 ./run.sh",
        "! ./run.sh",
        "echo 'x' ; 'sh' run.sh",
        "echo 'x' #' ; \n./run.sh",
        "cat <<E | sh\n. ./run.sh\nE",
    ],
)
def test_a_script_among_plain_programs_is_found(tmp_path: Path, command: str) -> None:
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
        "pytest",
        "cargo test",
        "go run .",
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
        "builtin eval ls",
        "trap ls EXIT",
        "ipython x.py",
        "ts-node x.ts",
        "runghc x.hs",
        "bash5 x",
        "bash-static x",
        "BASH x",
        "gosu nobody ls",
        "tini ls",
        "bwrap ls",
        "conda run ls",
        "ip netns exec x ls",
        "ex x",
        "ld-linux-x86-64.so.2 /bin/ls",
        "sort --compress-program=sh x",
        "psql -f x.sql",
        "wget --input-file=x",
        "ls\u00a0x",
        "\u2003ls",
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


@pytest.mark.parametrize(
    "command",
    [
        "sh<run.sh",
        "sh run.sh;date",
        "(sh run.sh)",
        "ls:/run.sh; cat ls:/run.sh run.sh; ls:/x",
        "echo a' 'b ; sh run.sh 'x'",
        "date;>out ./run.sh",
        "date;<run.sh sh",
        "date 2>&1 ./run.sh; ./run.sh",
        "cat run.sh > .profile",
        "cp run.sh .profile",
        "uniq run.sh .profile",
        "printf -v PATH . ; run.sh",
        "tool --file=run.sh",
        "cd sub && sh inner.sh",
        "date; cd 'sub'; ./inner.sh",
        r"sh r\un.sh",
    ],
)
def test_a_script_is_found_wherever_the_command_names_it(tmp_path: Path, command: str) -> None:
    (tmp_path / "sub").mkdir()
    scripts = (tmp_path / "run.sh", tmp_path / "sub" / "inner.sh")
    for script in scripts:
        script.write_text("echo one")
    before = fingerprint("exec", {"command": command}, tmp_path)
    for script in scripts:
        script.write_text("echo two")
    assert fingerprint("exec", {"command": command}, tmp_path) != before


def test_a_script_that_is_too_large_to_be_read_is_bound_all_the_same(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_bytes(b"#" * 30_000_000)
    before = fingerprint("exec", {"command": "sh run.sh"}, tmp_path)
    with script.open("r+b") as file:
        file.write(b"id")
    assert fingerprint("exec", {"command": "sh run.sh"}, tmp_path) != before


def test_files_that_are_named_again_and_again_are_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a command of 120 KB has the worker read a terabyte before anybody is asked."""
    (tmp_path / "a").write_bytes(b"x" * 1_000_000)
    read: list[Path] = []
    opened = os.open

    def noted(path: Path, flags: int) -> int:
        read.append(path)
        return opened(path, flags)

    monkeypatch.setattr(os, "open", noted)
    fingerprint("exec", {"command": "sh " + "a " * 20_000}, tmp_path)
    assert read == [tmp_path / "a"]


def test_files_of_the_system_that_wait_for_an_event_are_not_read(tmp_path: Path) -> None:
    """/proc/kmsg and trace_pipe say that they are ordinary and empty; a reader waits in them."""
    os.mkfifo(tmp_path / "pipe")
    for name in ("/proc/kmsg", "/proc/self/status", "pipe"):
        assert fingerprint("exec", {"command": f"sh {name}"}, tmp_path)
