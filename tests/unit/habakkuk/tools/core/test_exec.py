from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from habakkuk.tools.contract import ToolOutput
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import call, context

EXEC = ToolRegistry().of(["core"])["exec"]


def run(tmp_path: Path, command: str, **more: Any) -> ToolOutput:
    return call(EXEC, context(tmp_path / "w"), command=command, **more)


def test_what_it_printed_and_its_exit_code(tmp_path: Path) -> None:
    assert run(tmp_path, "echo hello") == ToolOutput("hello\n[exit code 0]")


def test_errors_stand_apart_and_a_failure_is_an_error(tmp_path: Path) -> None:
    expected = "out\n[standard error]\nerr\n[exit code 2]"
    assert run(tmp_path, "echo out; echo err >&2; exit 2") == ToolOutput(expected, is_error=True)


def test_nothing_printed(tmp_path: Path) -> None:
    assert run(tmp_path, "true") == ToolOutput("[exit code 0]")


def test_a_signal_is_named(tmp_path: Path) -> None:
    output = run(tmp_path, "kill -SEGV $$")
    assert output.is_error
    assert output.text.startswith("[killed by SIGSEGV after ")


def test_a_timeout_says_so_and_keeps_the_output(tmp_path: Path) -> None:
    output = run(tmp_path, "echo begun; sleep 60", timeout_seconds=0.5)
    expected = "begun\n[killed after 0.5 s, the time it was given]"
    assert output == ToolOutput(expected, is_error=True)


def test_it_starts_in_the_workspace_or_a_folder_of_it(tmp_path: Path) -> None:
    (tmp_path / "w" / "below").mkdir(parents=True)
    assert run(tmp_path, "pwd").text.splitlines()[0] == str(tmp_path / "w")
    assert run(tmp_path, "pwd", cwd="below").text.splitlines()[0] == str(tmp_path / "w/below")


@pytest.mark.parametrize("cwd", ["..", "/", "/etc", "gone", "link", "file", "a\0", "~"])
def test_it_starts_nowhere_else(cwd: str, tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "link").symlink_to("/")
    (tmp_path / "w" / "file").touch()
    output = run(tmp_path, "touch ran", cwd=cwd)
    assert output.is_error
    assert not list(tmp_path.rglob("ran"))


def test_shells_know_what_bash_knows(tmp_path: Path) -> None:
    assert run(tmp_path, "a=(1 2 3); echo ${#a[@]} <(true) | cut -c1").text.startswith("3\n")


def test_files_of_tools_and_commands_are_each_others(tmp_path: Path) -> None:
    tools = ToolRegistry().of(["core"])
    where = context(tmp_path / "w")
    call(tools["write_file"], where, path="a.txt", content="one\n")
    assert not call(EXEC, where, command="echo two >> a.txt && mv a.txt b.txt").is_error
    assert call(tools["read_file"], where, path="b.txt").text == "one\ntwo"
    assert not call(tools["edit_file"], where, path="b.txt", old="two", new="2").is_error
    assert call(EXEC, where, command="cat b.txt").text == "one\n2\n[exit code 0]"


@pytest.mark.parametrize("seconds", [0, -1, 601, float("nan"), float("inf")])
def test_a_time_outside_its_bounds_is_refused(seconds: float, tmp_path: Path) -> None:
    assert run(tmp_path, "touch ran", timeout_seconds=seconds).is_error
    assert not list(tmp_path.rglob("ran"))


def test_the_longest_script_that_a_system_takes(tmp_path: Path) -> None:
    assert run(tmp_path, "true #" + "x" * 119_000) == ToolOutput("[exit code 0]")


def test_one_of_many_bytes_a_character_is_refused_before_it_starts(tmp_path: Path) -> None:
    output = run(tmp_path, "true #" + "漢" * 100_000)
    assert output.is_error
    assert "write it to a file" in output.text
