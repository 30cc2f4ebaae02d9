"""Row 27: values that a program could take for options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import call, context

TOOLS = ToolRegistry().of(["core"])
NAMES = ["-rf", "--help", "-", "--output=x", "-oProxyCommand=touch x", "+x", "$(touch x)", "a;b"]


@pytest.mark.parametrize("name", NAMES)
def test_a_file_may_have_any_name(name: str, tmp_path: Path) -> None:
    where = context(tmp_path / "w")
    assert not call(TOOLS["write_file"], where, path=name, content="text").is_error
    assert call(TOOLS["read_file"], where, path=name).text == "text"
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == [name]


@pytest.mark.parametrize("command", ["-x", "--version", "-c id", "+o posix", "-"])
def test_a_command_is_never_taken_for_an_option_of_the_shell(command: str, tmp_path: Path) -> None:
    output = call(TOOLS["exec"], context(tmp_path / "w"), command=command)
    assert output.is_error
    assert "[exit code 127]" in output.text


def test_a_folder_is_never_taken_for_an_option(tmp_path: Path) -> None:
    (tmp_path / "w" / "-P").mkdir(parents=True)
    output = call(TOOLS["exec"], context(tmp_path / "w"), command="pwd", cwd="-P")
    assert output.text.splitlines()[0] == str(tmp_path / "w" / "-P")


OPTIONS = [
    "--pre=touch x",
    "-f/etc/passwd",
    "--files",
    "-",
    "--",
    "-e x",
    "$(touch x)",
    "';touch x;'",
]


@pytest.mark.parametrize("value", OPTIONS)
def test_what_is_searched_for_is_never_taken_for_an_option(value: str, tmp_path: Path) -> None:
    folder = tmp_path / "w"
    (folder / "-sub").mkdir(parents=True)
    (folder / "-sub" / "file").write_text(f"before {value} after\n")
    where = context(folder)
    found = call(TOOLS["search_files"], where, pattern=re.escape(value), path="-sub")
    assert found.text == f"-sub/file:1:before {value} after"
    for arguments in ({"pattern": "b", "glob": value}, {"pattern": "b", "path": value}):
        assert "root:" not in call(TOOLS["search_files"], where, **arguments).text
    assert sorted(path.name for path in folder.iterdir()) == ["-sub"]
