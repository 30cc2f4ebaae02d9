"""Who answers in a conversation, and how it sounds (seed, Channels: /agent, /personality)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

from habakkuk.conversations.personalities import Personalities
from habakkuk.conversations.types import Address
from habakkuk.gateway.types import Admitted, Inbound
from tests.fakes.stack import Stack


def _routed(stack: Stack, said: str, agent: str = "reader") -> Admitted:
    """Say something in a chat that the settings give to `agent`."""
    address = Address("webhook", "shop", "room")
    return stack.container.gateway.admit(
        Inbound(address, stack.owner, said, "webhook", routed=agent)
    )


def _agent(stack: Stack, admitted: Admitted) -> Any:
    rows = stack.container.database.run(
        text("SELECT agent FROM turns WHERE id = :id"), id=admitted.turn_id
    )
    return rows[0].agent


def test_a_chosen_agent_stays_whatever_the_routes_say(stack: Stack) -> None:
    first = _routed(stack, "hello")
    assert _agent(stack, first) == "reader"
    assert "other" in str(_routed(stack, "/agent other").reply)
    second, third = (_routed(stack, said) for said in ("one", "two"))
    assert [_agent(stack, one) for one in (second, third)] == ["other", "other"]
    assert second.session_id == third.session_id != first.session_id


def test_default_goes_back_to_the_routes(stack: Stack) -> None:
    _routed(stack, "/agent other")
    _routed(stack, "/agent default")
    assert _agent(stack, _routed(stack, "hello")) == "reader"


def test_the_routes_may_change_what_nobody_chose(stack: Stack) -> None:
    _routed(stack, "hello")
    assert _agent(stack, _routed(stack, "hello", agent="careful")) == "careful"


def test_the_same_agent_keeps_its_session(stack: Stack) -> None:
    before = _routed(stack, "hello")
    _routed(stack, "/agent reader")
    assert _routed(stack, "more", agent="other").session_id == before.session_id


@pytest.mark.parametrize("command", ["agent", "personality"])
def test_what_there_is_not_changes_nothing(stack: Stack, command: str) -> None:
    reply = str(stack.say(f"/{command} nonsense").reply)
    assert reply.startswith("Nothing is changed")


def test_a_personality_stands_behind_the_prompt_from_the_next_turn_on(stack: Stack) -> None:
    stack.start()
    stack.ended(stack.say("first"))
    assert "warm" in str(stack.say("/personality").reply)
    stack.say("/personality warm")
    ended = stack.ended(stack.say("second"))
    before, after = (_system(request) for request in stack.model.requests)
    assert after.startswith(f"{before}\n\nBe warm")
    parts = stack.container.inspections().of(stack.principal, ended.session_id).parts
    assert "personality: warm" in [part.name for part in parts]


def test_a_file_of_the_home_is_one_too(stack: Stack) -> None:
    folder = stack.home / "personalities"
    folder.mkdir()
    (folder / "pirate.md").write_text("Talk like a pirate.\n")
    stack.start()
    stack.say("/personality pirate")
    stack.ended(stack.say("ahoy"))
    assert _system(stack.model.requests[-1]).endswith("\n\nTalk like a pirate.")


def test_a_new_session_sounds_as_the_agent_does(stack: Stack) -> None:
    stack.start()
    stack.say("/personality warm")
    stack.say("/new")
    stack.ended(stack.say("hello"))
    assert "Be warm" not in _system(stack.model.requests[-1])


@pytest.mark.parametrize("name", ["../secret", ".hidden", "a/b", "x" * 41])
def test_no_name_leaves_the_folder(stack: Stack, name: str) -> None:
    (stack.home / "secret.md").write_text("secret")
    assert Personalities(stack.home).text(name) is None


def _system(request: Any) -> str:
    return str(request.body["messages"][0]["content"])
