"""`habakkuk tools list`: needs a config and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from web.cli import group

CONFIG = """
agents:
  habakkuk: {}
  careful: {permissions: ask}
  reader: {permissions: read-only}
  free: {permissions: full}
  bare: {toolsets: []}
"""


@pytest.fixture(autouse=True)
def config(home: Path) -> None:
    (home / "config.yaml").write_text(CONFIG)


def _run(*words: str) -> Result:
    return CliRunner().invoke(group(), ("tools", "list", *words), prog_name="habakkuk")


def _tools(agent: str) -> dict[str, dict[str, str]]:
    told = json.loads(_run("--agent", agent, "-o", "json").stdout)
    return {tool["name"]: tool for tool in told["tools"]}


def test_the_default_agent_is_meant_without_a_name() -> None:
    result = _run()
    assert result.exit_code == 0
    assert result.stdout.startswith("habakkuk (permissions: workspace)\n")
    rows = {line.split()[0]: line for line in result.stdout.splitlines()[3:]}
    assert "read     runs " in rows["read_file"]
    assert "execute  asks " in rows["exec"]
    assert "write    runs in the workspace, asks outside " in rows["write_file"]
    assert "Run a shell command" in rows["exec"]


@pytest.mark.parametrize(
    ("agent", "verdict"), [("careful", "asks"), ("reader", "refused"), ("free", "runs")]
)
def test_the_mode_decides(agent: str, verdict: str) -> None:
    tools = _tools(agent)
    assert tools["write_file"]["inside_workspace"] == verdict
    assert tools["exec"]["outside_workspace"] == verdict
    assert tools["read_file"]["inside_workspace"] == "runs"


def test_outside_content_makes_a_free_agent_ask() -> None:
    assert _tools("free")["exec"]["after_outside_content"] == "asks"
    assert "runs, asks after outside content" in _run("--agent", "free").stdout


def test_an_agent_without_tools_has_none() -> None:
    assert _tools("bare") == {}


def test_an_unknown_agent_is_named_with_the_known_ones() -> None:
    result = _run("--agent", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "careful" in result.stderr
