"""`habakkuk pair`: codes typed, listed and taken back."""

from __future__ import annotations

import json

from sqlalchemy import text

from habakkuk.conversations.types import Address, Target
from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run


def _knock(stack: Stack, sender: str = "carol", name: str = "Carol") -> str:
    """Have a stranger told a code and return it."""
    address, target = Address("telegram", "phone", "c1"), Target("phone", "c1")
    assert stack.container.pairings.knock(address, sender, name, target)
    rows = stack.container.database.run(
        text("SELECT code FROM pairings WHERE external_id = :sender"), sender=sender
    )
    return str(rows[0].code)


def test_a_code_lets_somebody_new_in(stack: Stack, run: Run) -> None:
    result = run("pair", _knock(stack))
    assert result.exit_code == 0
    assert result.stdout.startswith("carol may write on phone, as Carol (phone ")
    assert stack.container.pairings.holds("telegram", "phone", "carol")


def test_a_code_lets_somebody_in_who_is_here(stack: Stack, run: Run) -> None:
    result = run("pair", _knock(stack), "--user", "owner")
    assert result.stdout == "carol may write on phone, as owner.\n"
    assert stack.container.accounts.known("telegram", "phone", "carol") == stack.owner


def test_a_code_as_nobody_is_refused_and_stays_good(stack: Stack, run: Run) -> None:
    code = _knock(stack)
    result = run("pair", code, "--user", "nobody")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "'nobody'" in result.stderr
    assert run("pair", code).exit_code == 0


def test_a_code_of_nobody_is_refused(run: Run) -> None:
    result = run("pair", "ABCDEFGH")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "good for one hour" in result.stderr


def test_codes_and_people_are_listed(stack: Stack, run: Run) -> None:
    assert run("pair", "list").stdout == "Nobody has asked to come in.\n"
    run("pair", _knock(stack))
    code = _knock(stack, "dave", "Dave\x1b[2J")
    table = run("pair", "list").stdout
    head, first, second = table.splitlines()
    assert head.split() == ["ACCOUNT", "SENDER", "CALLED", "CODE", "USER"]
    assert first.split()[:2] == ["phone", "dave"]
    assert code in first
    assert "in since" in second
    assert "\x1b" not in table
    told = json.loads(run("pair", "list", "-o", "json").stdout)["pairings"]
    assert [(one["sender"], one["code"]) for one in told] == [("dave", code), ("carol", None)]


def test_a_pairing_is_taken_back(stack: Stack, run: Run) -> None:
    run("pair", _knock(stack))
    assert run("pair", "revoke", "phone", "carol").stdout == (
        "carol may not write on phone any more.\n"
    )
    again = run("pair", "revoke", "phone", "carol")
    assert (again.exit_code, again.stdout) == (1, "")


def test_help_shows_how_a_code_is_typed(run: Run) -> None:
    assert "habakkuk pair [OPTIONS] CODE [--user NAME]" in run("pair", "--help").stdout
