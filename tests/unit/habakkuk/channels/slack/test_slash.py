"""The commands in the app's manifest."""

from __future__ import annotations

from ruamel.yaml import YAML

from habakkuk.channels.messages import OfferedCommand
from habakkuk.channels.slack.slash import section
from habakkuk.gateway.offers import offered


def _read(*commands: OfferedCommand) -> list[dict[str, str]]:
    found = YAML(typ="safe").load("features:\n" + section(commands))
    return list(found["features"]["slash_commands"])


def test_it_is_yaml_that_says_what_help_says() -> None:
    awkward = OfferedCommand("new", 'Start: "fresh" \\ #1')
    (told,) = _read(awkward)
    assert (told["command"], told["description"]) == ("/new", awkward.help)


def test_what_slack_answers_itself_is_left_out() -> None:
    names = {one["command"] for one in _read(*offered())}
    assert "/stop" in names
    assert names.isdisjoint({"/help", "/status"})
