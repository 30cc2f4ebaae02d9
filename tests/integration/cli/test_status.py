from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run
from tests.servers import ValkeyServer


def test_it_says_who_answers_and_what_waits(worker: Stack, run: Run) -> None:
    result = run("status")
    assert result.exit_code == 0
    for words in ("Database  answers", "Redis     answers", "mine/fake-model", "0 failed"):
        assert words in result.stdout


def test_json_holds_the_same(worker: Stack, run: Run) -> None:
    said = json.loads(run("status", "-o", "json").stdout)
    assert (said["version"], said["database"], said["redis"]) == (1, "ok", "ok")
    assert [one["queues"] for one in said["workers"]] == [["turns", "deliveries"]]
    tiers = {one["agent"]: one["tier"] for one in said["models"]}
    assert tiers == dict.fromkeys(("habakkuk", "careful", "reader", "other"), "full")
    assert said["jobs"] == {"pending": 0, "running": 0, "waiting": 0, "failed": 0}


def test_no_worker_is_told(run: Run) -> None:
    assert "Workers   none" in run("status").stdout


def test_a_worker_with_another_config_is_told(worker: Stack, run: Run) -> None:
    config = worker.home / "config.yaml"
    config.write_text(config.read_text() + "\ntimezone: Europe/Berlin\n")
    assert "Started with another config.yaml" in run("status").stdout
    assert json.loads(run("status", "-o", "json").stdout)["workers"][0]["outdated"] is True


def test_redis_away_says_what_that_means(
    run: Run, monkeypatch: pytest.MonkeyPatch, redis_server: ValkeyServer
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url())
    redis_server.kill()
    result = run("status")
    assert result.exit_code == 0
    assert "Redis     away: answers come late and unstreamed" in result.stdout


def test_without_a_model_it_says_what_still_works(worker: Stack, run: Run) -> None:
    (worker.home / "config.yaml").write_text("")
    shown = run("status").stdout
    assert "habakkuk cannot answer" in shown
    assert "what is stored can be read" in shown


def test_the_database_away_is_shown_and_is_no_success(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://nobody@/none?host={tmp_path}")
    result = run("status")
    assert result.exit_code == 5
    assert "Database  does not answer" in result.stdout
