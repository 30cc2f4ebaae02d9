from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from habakkuk.core.errors import ConfigurationError, Conflict, Unavailable
from web.cli import group
from web.cli.terminal import guard

_ROOT = Path(__file__).parents[4]
_HEAVY = {"flask", "sqlalchemy", "celery", "openai", "anthropic", "alembic", "redis", "pydantic"}
_PROBE = """
import json, sys
from web.cli import group
try:
    group()(["--help"], prog_name="habakkuk")
except SystemExit:
    pass
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})), file=sys.stderr)
"""


def _run(*words: str) -> Result:
    return CliRunner().invoke(group(), words, prog_name="habakkuk")


def test_help_lists_every_command_and_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE], cwd=_ROOT, capture_output=True, text=True, check=True
    )
    assert not _HEAVY & set(json.loads(done.stderr))
    for name in ("ask", "chat", "config", "jobs", "logs", "migrate", "sessions", "status"):
        assert f"\n  {name} " in done.stdout


def test_every_command_is_named_as_its_module_and_has_a_help() -> None:
    made = group()
    context = made.make_context("habakkuk", [], resilient_parsing=True)
    for name in made.list_commands(context):
        command = made.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str()
        assert _run(name, "--help").exit_code == 0


def test_a_typing_error_is_met_with_what_was_meant() -> None:
    result = _run("sttus")
    assert result.exit_code == 2
    assert "Did you mean 'status'?" in result.stderr


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigurationError("config.yaml:3: wrong"), 3, "config.yaml:3: wrong\n"),
        (Conflict("it is done"), 1, "It is done\n"),
        (Unavailable("the database does not answer"), 5, "The database does not answer\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
    ],
    ids=["configuration", "refused", "away", "interrupted", "pipe closed"],
)
def test_failures_are_a_sentence_and_a_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("web.cli.refuse_agents", fail)
    result = _run("config", "check")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", said)


def test_a_fault_names_its_place_and_not_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ValueError("what a person wrote")

    monkeypatch.setattr("web.cli.refuse_agents", fail)
    result = _run("config", "check")
    assert result.exit_code == 70
    assert "ValueError" in result.stderr
    assert "what a person wrote" not in result.stderr


def test_an_agents_command_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HABAKKUK_AGENT_COMMAND", "")
    result = _run("config", "check")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "acts as the owner" in result.stderr


def test_the_agents_user_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "_user", lambda: "habakkuk-agent")
    assert _run("config", "check").exit_code == 1


@pytest.mark.parametrize("words", [("status",), ("ask", "hello"), ("tokens", "list"), ("migrate",)])
def test_without_a_server_it_says_how_to_start_one(words: tuple[str, ...]) -> None:
    result = _run(*words)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "./scripts/up" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_closed_pipe_is_quiet() -> None:
    command = f"{sys.executable} -m web.cli --help | true"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=dict(os.environ),
    )
    assert done.stderr == ""
