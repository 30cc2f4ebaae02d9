"""Where values come from: the process first, the home's .env second."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.config.environment import read_environment


def test_the_home_completes_what_the_process_does_not_name(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MINE_KEY=from-the-file\nOTHER='quoted $HOME'\n")
    read = read_environment({"HABAKKUK_HOME": str(tmp_path)})
    assert read.get("MINE_KEY") == "from-the-file"
    assert read.get("OTHER") == "quoted $HOME"


def test_the_process_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MINE_KEY=from-the-file\n")
    read = read_environment({"HABAKKUK_HOME": str(tmp_path), "MINE_KEY": "from-the-process"})
    assert read.get("MINE_KEY") == "from-the-process"


def test_an_empty_variable_switches_one_of_the_file_off(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MINE_KEY=from-the-file\n")
    read = read_environment({"HABAKKUK_HOME": str(tmp_path), "MINE_KEY": ""})
    assert read.get("MINE_KEY") is None


def test_children_get_what_the_process_had(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MINE_KEY=from-the-file\n")
    base = {"HABAKKUK_HOME": str(tmp_path)}
    assert read_environment(base).process == base


def test_the_home_is_below_the_user_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert read_environment({}).home == Path("/home/somebody/.habakkuk")
    assert read_environment({"HABAKKUK_HOME": "~/other"}).home == Path("/home/somebody/other")


def test_a_relative_home_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_environment({"HABAKKUK_HOME": "here"}).home == tmp_path / "here"


def test_without_a_base_it_reads_the_process(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", "from-the-process")
    read = read_environment()
    assert (read.home, read.get("MINE_KEY")) == (home, "from-the-process")


def test_a_repr_shows_no_value(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("FILE_KEY=canary-in-the-file\n")
    read = read_environment({"HABAKKUK_HOME": str(tmp_path), "MINE_KEY": "canary-in-the-process"})
    assert "canary" not in repr(read)
