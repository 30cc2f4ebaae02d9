"""How accounts are printed."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from click.testing import CliRunner

from habakkuk.channels.contract import Withheld
from habakkuk.gateway.health import AccountHealth, State
from web.cli import channels


class _Container:
    """An account with a mail that its server does not give out."""

    @property
    def channel_health(self) -> _Container:
        return self

    def all(self) -> list[AccountHealth]:
        mail = Withheld("mail 17 (2 kB)", 1000.0, "the line breaks", "delete it")
        return [AccountHealth("post", "email", State.LISTENING, withheld=(mail,), more=3)]

    def __enter__(self) -> _Container:
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""


@pytest.fixture(autouse=True)
def _one_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "opened", lambda: cast("Any", _Container()))


def test_what_is_not_given_out_is_listed_with_what_to_do() -> None:
    shown = CliRunner().invoke(channels.command, ["list"]).stdout
    assert "post: mail 17 (2 kB) is not read since 1970-01-01" in shown
    assert ": the line breaks; delete it" in shown
    assert "post: 3 more are not read" in shown


def test_programs_are_told_it_too() -> None:
    shown = CliRunner().invoke(channels.command, ["list", "-o", "json"]).stdout
    (account,) = json.loads(shown)["channels"]
    assert account["withheld"] == [
        {
            "what": "mail 17 (2 kB)",
            "since": "1970-01-01T00:16:40+00:00",
            "why": "the line breaks",
            "advice": "delete it",
        }
    ]
    assert account["withheld_more"] == 3
