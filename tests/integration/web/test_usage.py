"""What models used and cost over HTTP, and who may see it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served

MONEY = """
pricing: {mine/fake-model: {input: 1000, output: 1000}}
budgets: {day: 20, users: {alice: 5, owner: 10}, agents: {habakkuk: 15}}
"""


@pytest.fixture
def priced(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Served]:
    stack = Stack(home, database_url, redis_url, model, MONEY)
    with Served(stack) as running:
        yield running
    stack.close()


def test_a_turn_is_in_the_sums_with_what_it_cost(priced: Served) -> None:
    priced.stack.start()
    priced.ask("hello", "c")
    found = priced.client.get("/api/usage?since=1d").json()
    total = found["total"]
    assert total["calls"] == 1
    assert float(total["cost"]) == (total["input"] + total["output"]) / 1000
    assert [line["name"] for line in found["models"]] == ["mine/fake-model"]
    assert [line["name"] for line in found["users"]] == ["owner"]
    assert found["days"][0]["calls"] == 1


def test_a_price_that_nobody_knows_is_null(served: Served) -> None:
    served.stack.start()
    served.ask("hello", "c")
    total = served.client.get("/api/usage").json()["total"]
    assert (total["calls"], total["cost"], total["unpriced"]) == (1, None, 1)


def test_a_member_sees_what_they_used_and_their_own_budgets(priced: Served) -> None:
    priced.stack.start()
    priced.ask("hello", "c")
    accounts = priced.stack.container.accounts
    alice = accounts.add("alice")
    member = priced.new_client(accounts.create_token("hers", user=alice))
    assert member.get("/api/usage").json()["total"]["calls"] == 0
    scopes = [one["scope"] for one in member.get("/api/budgets").json()["budgets"]]
    assert scopes == ["day", "user:alice"]
    owners = [one["scope"] for one in priced.client.get("/api/budgets").json()["budgets"]]
    assert owners == ["day", "user:alice", "user:owner", "agent:habakkuk"]


@pytest.mark.parametrize("query", ["since=7w", "since=", "since=9999999999d", "by=day"])
def test_a_query_that_means_nothing_is_refused(served: Served, query: str) -> None:
    assert served.client.get(f"/api/usage?{query}").status_code == 400


def test_without_budgets_there_are_none(served: Served) -> None:
    assert served.client.get("/api/budgets").json()["budgets"] == []
