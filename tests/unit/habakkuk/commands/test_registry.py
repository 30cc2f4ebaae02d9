"""The commands are found, described and guarded."""

from __future__ import annotations

import pytest

from habakkuk.accounts.types import Role
from habakkuk.commands.contract import Command, CommandContext, command
from habakkuk.commands.registry import CommandRegistry, allowed

REGISTRY = CommandRegistry()


def test_the_promised_commands_are_there() -> None:
    assert {"new", "stop", "status"} <= set(REGISTRY.all)


@pytest.mark.parametrize("name", sorted(REGISTRY.all))
def test_every_command_says_what_it_does(name: str) -> None:
    found = REGISTRY.all[name]
    assert found.help.endswith(".")
    assert found.name == name == name.lower()


def made(role: Role) -> Command:
    @command("probe", usage="[word]", role=role)
    def probe(context: CommandContext, arguments: str) -> str:
        """Say the word.

        More than that is not shown.
        """
        return arguments

    return probe


def test_a_commands_help_is_the_first_line() -> None:
    probe = made(Role.OWNER)
    assert (probe.help, probe.usage, probe.wants_health) == ("Say the word.", "[word]", False)


@pytest.mark.parametrize(
    ("needed", "who", "may"),
    [
        (Role.OWNER, Role.OWNER, True),
        (Role.OWNER, Role.MEMBER, False),
        (Role.MEMBER, Role.OWNER, True),
        (Role.MEMBER, Role.MEMBER, True),
        (Role.MEMBER, Role.VIEWER, False),
        (Role.VIEWER, Role.VIEWER, True),
    ],
)
def test_a_command_is_for_its_role_and_those_above(needed: Role, who: Role, may: bool) -> None:
    assert allowed(made(needed), who) is may


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("/new", "new", ""),
        ("  /STOP  now please ", "stop", "now please"),
        ("/stop\nnow", "stop", "now"),
        ("/status\tx", "status", "x"),
    ],
)
def test_a_message_that_calls_a_command(text: str, name: str, arguments: str) -> None:
    found = REGISTRY.match(text)
    assert found is not None
    assert (found[0].name, found[1]) == (name, arguments)


@pytest.mark.parametrize("text", ["", "hello", "/", "/etc/passwd", "new", "/ new", "/newer"])
def test_a_message_that_calls_none(text: str) -> None:
    assert REGISTRY.match(text) is None
