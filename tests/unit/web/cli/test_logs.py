from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from web.cli import group
from web.cli.terminal.log_lines import LogFile, merged


def _logs(*words: str) -> Result:
    return CliRunner().invoke(group(), ["logs", *words], prog_name="habakkuk")


def _line(second: int, event: str, level: str = "info", **more: object) -> str:
    stamp = f"2026-01-02T10:00:{second:02}Z"
    return json.dumps({"event": event, "level": level, "timestamp": stamp, **more})


@pytest.fixture
def folder(home: Path) -> Path:
    logs = home / "logs"
    logs.mkdir()
    first = [_line(1, "one"), _line(4, "four", "warning", job="j1")]
    (logs / "web.log").write_text("\n".join(first) + "\n")
    (logs / "worker-1.log").write_text(_line(3, "three", "error", exception="Trace") + "\n")
    (logs / "postgresql.log").write_text("2026-01-02 10:00:02.5 UTC [7] LOG:  two\n\tmore\n")
    return logs


def test_lines_are_merged_by_time(folder: Path) -> None:
    shown = _logs().stdout.splitlines()
    assert [line.split()[0] for line in shown] == [
        "web",
        "postgresql",
        "postgresql",
        "worker-1",
        "Trace",
        "web",
    ]
    assert shown[-1].endswith("warning   four  job=j1")


def test_the_newest_are_kept(folder: Path) -> None:
    assert [
        json.loads(one)["event"] for one in _logs("-n", "2", "-o", "json").stdout.splitlines()
    ] == [
        "three",
        "four",
    ]


def test_a_level_hides_what_is_below_it(folder: Path) -> None:
    shown = _logs("--level", "error", "-o", "json").stdout
    assert json.loads(shown)["event"] == "three"


def test_one_process_is_shown_alone(folder: Path) -> None:
    assert "three" not in _logs("--process", "web").stdout


def test_an_unknown_process_is_told_the_known_ones(folder: Path) -> None:
    result = _logs("--process", "wob")
    assert result.exit_code == 1
    assert "postgresql, web, worker-1" in result.stderr


def test_a_home_without_logs_says_when_there_are_some(home: Path) -> None:
    result = _logs()
    assert result.exit_code == 1
    assert "./scripts/up" in result.stderr


def test_following_shows_whole_new_lines_only(folder: Path) -> None:
    file = LogFile(folder / "web.log")
    merged([file], None)
    with (folder / "web.log").open("a") as log:
        log.write(_line(5, "five") + "\n" + _line(6, "six")[:10])
    assert [line.raw for line in merged([file], None)] == [_line(5, "five")]
    with (folder / "web.log").open("a") as log:
        log.write(_line(6, "six")[10:] + "\n")
    assert [line.raw for line in merged([file], None)] == [_line(6, "six")]


def test_following_survives_a_new_file(folder: Path) -> None:
    file = LogFile(folder / "web.log")
    merged([file], None)
    (folder / "web.log").rename(folder / "web.log.1")
    (folder / "web.log").write_text(_line(7, "seven") + "\n")
    assert [line.raw for line in merged([file], None)] == [_line(7, "seven")]


def test_valkeys_lines_have_a_time_and_a_level(folder: Path) -> None:
    (folder / "valkey.log").write_text("7:M 02 Jan 2026 10:00:00.000 # WARNING over\n")
    (line,) = merged([LogFile(folder / "valkey.log")], "warning")
    assert (line.level, line.moment.minute, line.moment.year) == ("warning", 0, 2026)
