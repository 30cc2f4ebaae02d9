"""The system prompt holds still, byte for byte (K61)."""

from __future__ import annotations

import re

from habakkuk.agent.prompt import assemble, joined
from habakkuk.core.config.schema import AgentConfig


def prompt(agent: AgentConfig | None = None, *, has_tools: bool = True) -> str:
    return joined(assemble("habakkuk", agent or AgentConfig(), has_tools=has_tools))


def test_the_same_agent_has_the_same_bytes() -> None:
    assert prompt().encode() == prompt().encode()


def test_nothing_in_it_moves() -> None:
    assert not re.search(r"\d{4}-\d\d-\d\d|\d\d:\d\d|[0-9a-f]{16}", prompt())


def test_it_says_who_speaks() -> None:
    assert prompt().startswith("You are Habakkuk, ")


def test_the_agents_own_words_come_last() -> None:
    assert prompt(AgentConfig(prompt="  Speak like a pirate.\n")).endswith(
        "\n\nSpeak like a pirate."
    )


def test_tools_are_spoken_of_only_where_there_are_some() -> None:
    assert [p.name for p in assemble("x", AgentConfig(), has_tools=False)] == ["identity"]
    assert [p.name for p in assemble("x", AgentConfig(), has_tools=True)] == ["identity", "tools"]


def test_braces_in_an_agents_name_or_words_are_left_alone() -> None:
    assert "{x}" in prompt(AgentConfig(prompt="Answer with {x}."))
