from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from web.cli import group


def _check(*words: str) -> Result:
    return CliRunner().invoke(group(), ["config", "check", *words], prog_name="habakkuk")


def test_no_file_is_fine(home: Path) -> None:
    result = _check()
    assert result.exit_code == 0
    assert result.stdout.startswith(f"ok: no {home / 'config.yaml'}")
    assert "OPENAI_API_KEY" in result.stdout


def test_it_names_the_models_of_every_agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE_KEY", "x")
    (home / "config.yaml").write_text(
        "providers:\n  mine:\n    type: openai\n    base_url: http://127.0.0.1:1/v1\n"
        "    api_key_env: MINE_KEY\n"
        "agents:\n  habakkuk: {model: mine/small, fallbacks: [mine/big]}\n"
    )
    said = json.loads(_check("-o", "json").stdout)
    assert said["agents"] == [
        {
            "agent": "habakkuk",
            "tier": "full",
            "models": ["mine/small", "mine/big"],
            "problem": None,
        }
    ]


def test_a_fault_has_its_file_line_and_key(home: Path) -> None:
    (home / "config.yaml").write_text("agents:\n  habakkuk:\n    modle: mine/small\n")
    result = _check()
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith("config.yaml:3: agents.habakkuk.modle: unknown key")
    assert "'model'" in result.stderr


def test_every_fault_is_told(home: Path) -> None:
    (home / "config.yaml").write_text("timezon: UTC\nworkers: {turns: many}\n")
    assert len(_check().stderr.splitlines()) == 2


@pytest.mark.parametrize("words", [["config", "check"], ["up"]])
def test_a_search_back_end_that_there_is_not_is_told(home: Path, words: list[str]) -> None:
    (home / "config.yaml").write_text("search: {backends: [searxgn]}\n")
    result = CliRunner().invoke(group(), words, prog_name="habakkuk")
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.strip() == (
        "search.backends.0: there is no search back-end 'searxgn'; did you mean 'searxng'?"
    )
