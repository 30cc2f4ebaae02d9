"""`habakkuk doctor`: every check, and an exit code that tells."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run

CHECKS = {
    "python",
    "home",
    "secrets",
    "config",
    "disk",
    "agents' user",
    "checkpoints",
    "model",
    "postgresql",
    "durability",
    "connections",
    "schema",
    "redis",
    "redis keeps",
    "workers",
    "background",
    "web",
}


def _findings(run: Run) -> dict[str, dict[str, str]]:
    told = json.loads(run("doctor", "-o", "json").stdout)
    return {finding["name"]: finding for finding in told["findings"]}


def test_every_check_says_what_was_found_and_a_bad_one_what_to_do(worker: Stack, run: Run) -> None:
    findings = _findings(run)
    assert set(findings) == CHECKS
    assert all(finding["found"] for finding in findings.values())
    assert all(
        bool(finding["advice"]) == (finding["verdict"] != "ok") for finding in findings.values()
    )
    assert findings["schema"]["verdict"] == findings["workers"]["verdict"] == "ok"
    assert findings["model"]["verdict"] == "ok"


def test_what_must_be_changed_is_the_exit_code(
    worker: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whatever else runs on this machine: nothing listens there.
    monkeypatch.setenv("HABAKKUK_LISTEN", "127.0.0.1:1")
    result = run("doctor")
    assert result.exit_code == 1
    assert "\nfail  web " in result.stdout
    assert "→ start with ./scripts/up" in result.stdout


def test_without_workers_it_says_so(stack: Stack, run: Run) -> None:
    assert _findings(run)["workers"]["verdict"] == "fail"


def test_without_the_service_of_processes_it_says_so(stack: Stack, run: Run) -> None:
    finding = _findings(run)["background"]
    assert (finding["verdict"], finding["advice"]) == ("fail", "see habakkuk logs processes")


def test_an_open_home_is_named_with_the_command(stack: Stack, run: Run, home: Path) -> None:
    home.chmod(0o755)
    assert _findings(run)["home"]["advice"] == f"chmod 700 {home}"


def test_a_wrong_config_ends_the_checks_with_its_line(stack: Stack, run: Run, home: Path) -> None:
    (home / "config.yaml").write_text("agnts: {}\n")
    result = run("doctor")
    assert result.exit_code == 1
    assert "config.yaml:1: agnts: unknown key" in result.stdout


def test_a_database_that_is_away_stops_no_other_check(
    stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DATABASE_URL", f"postgresql://nobody@/none?host={tmp_path}")
    findings = _findings(run)
    assert findings["postgresql"]["verdict"] == "fail"
    assert findings["redis"]["verdict"] == "ok"


def test_without_databases_it_says_how_to_start(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")
    assert _findings(run)["running"]["advice"] == "./scripts/up"


def test_accounts_that_take_no_messages_are_named(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAIL", "secret")
    accounts = """
channels:
  closed: {type: webhook, secret_env: NO_SUCH_SECRET, allow_from: ["*"]}
  unproven: {type: email, imap_host: m.example, smtp_host: m.example, user: u, password_env: MAIL,
    address: u@m.example, allow_from: ["*"]}
"""
    Stack(home, database_url, redis_url, model, accounts).close()
    findings = _findings(run)
    assert findings["channel closed"]["verdict"] == "fail"
    assert "NO_SUCH_SECRET is not set" in findings["channel closed"]["found"]
    assert findings["channel unproven"]["verdict"] == "warn"
    assert "trusted_authserv" in findings["channel unproven"]["found"]
