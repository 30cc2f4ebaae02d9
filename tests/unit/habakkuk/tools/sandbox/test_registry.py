"""Which sandbox an agent has."""

from __future__ import annotations

import pytest

from habakkuk.core.config.schema import AgentConfig, SandboxKind
from habakkuk.core.errors import ToolError
from habakkuk.tools.sandbox.contract import Ground
from habakkuk.tools.sandbox.none import Unconfined
from habakkuk.tools.sandbox.registry import Sandboxes, sandbox_class

_SSH = {"ssh": {"host": "h.example", "workdir": "/w"}}


@pytest.mark.parametrize("kind", SandboxKind)
def test_each_setting_has_its_module_and_says_where_commands_run(kind: SandboxKind) -> None:
    config = AgentConfig.model_validate({"sandbox": kind.value, **_SSH})
    made = Sandboxes(Ground(), {"a": config}).of("a")
    assert type(made) is sandbox_class(kind)
    assert made.describe()


def test_only_another_machine_is_remote() -> None:
    remote = [kind for kind in SandboxKind if sandbox_class(kind).remote]
    assert remote == [SandboxKind.SSH]


def test_an_agent_that_is_not_configured_is_refused() -> None:
    """Nobody knows which sandbox was meant for it."""
    with pytest.raises(ToolError, match="not configured"):
        Sandboxes(Ground(), {"a": AgentConfig()}).of("b")


def test_without_settings_every_agent_has_none() -> None:
    assert isinstance(Sandboxes(Ground()).of("anybody"), Unconfined)


def test_an_agents_sandbox_is_made_once() -> None:
    sandboxes = Sandboxes(Ground(), {"a": AgentConfig()})
    assert sandboxes.of("a") is sandboxes.of("a")
