"""Row 25: what reaches a command through its environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from habakkuk.core.agent_user import AGENT_VARIABLE
from habakkuk.tools.registry import ToolRegistry
from tests.fakes.toolbox import call, context, services

EXEC = ToolRegistry().of(["core"])["exec"]

INJECTIONS = [
    "NODE_OPTIONS",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "IFS",
    "BASH_FUNC_ls%%",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "PERL5OPT",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "EDITOR",
    "PAGER",
    "LESSOPEN",
    "HTTP_PROXY",
    "SSH_AUTH_SOCK",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "TELEGRAM_BOT_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "DATABASE_URL",
    "REDIS_URL",
    "HABAKKUK_HOME",
    "HABAKKUK_LISTEN",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path / "home" / "agents" / "habakkuk" / "workspace"


def _environment(workspace: Path, process: dict[str, str]) -> dict[str, str]:
    where = context(workspace, services(workspace.parents[2], process))
    told = call(EXEC, where, command="/usr/bin/env -0 | tr '\\0' '\\n'").text
    pairs = (line.partition("=") for line in told.splitlines() if "=" in line)
    return {name: value for name, _, value in pairs}


def test_nothing_that_changes_programs_or_holds_secrets_is_inherited(workspace: Path) -> None:
    found = _environment(workspace, dict.fromkeys(INJECTIONS, "canary"))
    assert {name: value for name, value in found.items() if value == "canary"} == {}


def test_what_says_how_the_machine_is_used_is(workspace: Path) -> None:
    given = {"LANG": "de_DE.UTF-8", "LC_TIME": "C", "TERM": "xterm", "TZ": "Asia/Tokyo"}
    found = _environment(workspace, given)
    assert given.items() <= found.items()
    assert found["PATH"] == "/usr/local/bin:/usr/bin:/bin"


def test_a_command_can_know_that_an_agent_started_it(workspace: Path) -> None:
    assert _environment(workspace, {})[AGENT_VARIABLE] == "1"


@pytest.mark.parametrize("name", [".env", ".bashrc", ".profile", ".bash_profile", ".envrc"])
def test_files_of_the_workspace_do_not_set_it_up(name: str, workspace: Path) -> None:
    workspace.mkdir(parents=True)
    (workspace / name).write_text("export INJECTED=canary\n")
    assert "INJECTED" not in _environment(workspace, {"HOME": str(workspace)})


def test_the_model_has_no_argument_that_sets_it() -> None:
    # `secrets` names what the operator keeps for it, and gives no value.
    fields = {"command", "timeout_seconds", "cwd", "background", "notify", "secrets"}
    assert set(EXEC.args.model_fields) == fields
