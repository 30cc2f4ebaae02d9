from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.cli.conftest import Run

MONEY = """
pricing: {mine/fake-model: {input: 1000, output: 1000}}
budgets: {day: 20, agents: {habakkuk: 10}}
"""


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, MONEY)
    yield made
    made.close()


def test_usage_is_shown_by_what_one_asks_for(worker: Stack, run: Run) -> None:
    run("ask", "hello")
    heads = "CALLS  FAILED  READ"
    for kind, name in (("model", "mine/fake-model"), ("agent", "habakkuk"), ("user", "owner")):
        shown = run("usage", "--by", kind).stdout.splitlines()
        assert shown[0].startswith(kind.upper())
        assert heads in shown[0]
        assert shown[1].split()[:2] == [name, "1"]
        assert shown[2].split()[0] == "total"
        assert "$0." in shown[2]
    assert len(run("usage", "--since", "3d").stdout.splitlines()) == 5


def test_usage_for_programs_has_exact_amounts(worker: Stack, run: Run) -> None:
    run("ask", "hello")
    found = json.loads(run("usage", "-o", "json", "--since", "1d").stdout)
    total = found["total"]
    assert float(total["cost"]) == (total["input"] + total["output"]) / 1000
    assert [one["name"] for one in found["models"]] == ["mine/fake-model"]
    assert len(found["days"]) == 1


def test_nothing_used_is_said(stack: Stack, run: Run) -> None:
    assert run("usage").stdout == "No model was called in the last 7d.\n"
    refused = run("usage", "--since", "soon")
    assert refused.exit_code == 1
    assert "12h or 7d" in refused.stderr


def test_budgets_are_shown_and_raised_for_today(stack: Stack, run: Run) -> None:
    assert [line.split() for line in run("budget", "show").stdout.splitlines()[:3]] == [
        ["SCOPE", "BUDGET", "SPENT", "UNDER", "WAY", "RAISED", "BY"],
        ["day", "$20.00", "$0.00"],
        ["agent:habakkuk", "$10.00", "$0.00"],
    ]
    raised = run("budget", "raise", "agent:habakkuk", "2.50")
    assert raised.stdout.startswith("agent:habakkuk: $12.50 until ")
    found = json.loads(run("budget", "show", "-o", "json").stdout)["budgets"]
    assert {one["scope"]: float(one["raised"]) for one in found} == {
        "day": 0.0,
        "agent:habakkuk": 2.5,
    }


@pytest.mark.parametrize(
    ("scope", "amount", "words"),
    [
        ("week", "5", "there are day, agent:habakkuk"),
        ("day", "much", "no amount"),
        ("day", "0", "0"),
    ],
)
def test_what_cannot_be_raised_says_why(
    stack: Stack, run: Run, scope: str, amount: str, words: str
) -> None:
    refused = run("budget", "raise", scope, amount)
    assert refused.exit_code == 1
    assert words in refused.stderr


def test_the_doctor_names_budgets_that_stop_nobody(stack: Stack, run: Run) -> None:
    config = stack.home / "config.yaml"
    config.write_text(
        config.read_text().replace("agents: {habakkuk: 10}", "users: {member: 1, Alcie: 2}")
    )
    findings = json.loads(run("doctor", "-o", "json").stdout)["findings"]
    found = [one["found"] for one in findings if one["name"] == "budgets"]
    # The agent `other` has a model without a price.
    assert found == [
        "nobody knows what mine/other-model costs, so it is not asked where a budget holds",
        "budgets.users.Alcie: nobody is called that",
    ]
