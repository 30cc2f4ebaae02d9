"""An agent's command is refused by the command line, which acts as the owner."""

from __future__ import annotations

import os
import pwd

import pytest
from click.testing import CliRunner

from habakkuk.core.agent_user import AGENT_USER, AGENT_VARIABLE
from web.cli import group

COMMANDS = [("status",), ("approvals", "list"), ("tokens", "create", "x"), ("config", "check")]


def refused(*words: str) -> bool:
    done = CliRunner().invoke(group(), words, prog_name="habakkuk")
    assert done.exit_code != 0
    return "an agent may not use the habakkuk command" in done.output.lower()


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_command_that_an_agent_started_is_refused(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AGENT_VARIABLE, "")
    assert refused(*words)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_agents_user_is_refused_without_the_mark(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(AGENT_VARIABLE, raising=False)
    own = pwd.getpwuid(os.geteuid())
    agents = pwd.struct_passwd((AGENT_USER, *own[1:]))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: agents)
    assert refused(*words)
