"""The usage page: empty, full, narrow, dark, without JavaScript."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import expect
from sqlalchemy import text

from tests.browser.conftest import Opening
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack
from tests.integration.web.served import Served

MONEY = """
budgets: {day: 20, users: {owner: 5}, agents: {habakkuk: 10}}
"""
ADD = text("""
    INSERT INTO usage (id, at, user_id, agent, provider, model, input, output, cache_read,
                       cache_write, reasoning, cost, outcome)
    VALUES (:id, :at, :user_id, :agent, 'mine', :model, :input, :output, :cache_read, 1000, 500,
            :cost, :outcome)
""")


@pytest.fixture
def stack(home: Path, database_url: str, redis_url: str, model: ModelServer) -> Iterator[Stack]:
    made = Stack(home, database_url, redis_url, model, MONEY)
    yield made
    made.close()


def fill(served: Served) -> None:
    """A week in which the cache helped, and today, when it did not."""
    container = served.stack.container
    row: dict[str, Any] = {
        "id": "today",
        "at": datetime.now(UTC),
        "user_id": served.stack.owner.id,
        "agent": "habakkuk",
        "model": "a-model-with-a-long-name-2026-11-30",
        "input": 1_234_567,
        "output": 45_678,
        "cache_read": 100_000,
        "cost": Decimal("4.25"),
        "outcome": "answered",
    }
    unpriced = {"id": "new", "model": "new", "cost": None, "outcome": "cut", "agent": "other"}
    cheap = {"cache_read": 1_000_000, "cost": Decimal("0.0042")}
    rows = [row, row | unpriced | {"cache_read": 1_000_000}]
    for number in range(1, 8):
        before = datetime.now(UTC) - timedelta(days=number)
        rows.append(row | cheap | {"id": f"call{number}", "at": before})
    for each in rows:
        container.database.run(ADD, **each)


def test_an_empty_page_says_what_it_is_for(opening: Opening) -> None:
    page = opening().go("/usage")
    expect(page.locator(".lead")).to_have_text("No model was called in this time.")
    expect(page.get_by_text("Every call of a model has a line")).to_be_visible()
    expect(page.get_by_role("link", name="Write a message")).to_be_visible()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_full_page_fits(opening: Opening, width: int, scheme: Literal["light", "dark"]) -> None:
    window = opening(width, scheme)
    fill(window.served)
    page = window.go("/usage")
    expect(page.locator(".lead")).to_contain_text("$4.25 and 1 call of unknown price today")
    expect(page.locator(".fall")).to_contain_text("took 8% of what it read today from its cache")
    expect(page.get_by_role("heading", name="By person")).to_be_visible()
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) == 0
    for name in ("Overview", "Usage", "Jobs"):
        expect(page.get_by_role("link", name=name, exact=True)).to_be_in_viewport(ratio=1)


def test_a_budget_says_in_words_how_it_stands(opening: Opening) -> None:
    window = opening()
    fill(window.served)
    page = window.go("/usage")
    budgets = page.get_by_role("region", name="Budgets of today")
    expect(budgets.get_by_role("row", name="This server")).to_contain_text("$15.75 left")
    expect(budgets.get_by_role("row", name="owner").locator(".waiting")).to_have_text("$0.75 left")
    window.stack.container.database.run(text("UPDATE usage SET cost = 6 WHERE cost = 4.25"))
    page = window.go("/usage")
    expect(budgets.get_by_role("row", name="owner").locator(".failed")).to_have_text("used up")


def test_the_time_is_in_the_address(opening: Opening) -> None:
    window = opening()
    fill(window.served)
    page = window.go("/usage")
    page.get_by_role("link", name="Today", exact=True).click()
    expect(page).to_have_url(f"{window.base_url}/usage?since=1d")
    expect(page.locator(".lead")).to_have_text("$4.25 and 1 call of unknown price today.")
    page.goto(f"{window.base_url}/usage?since=nonsense")
    expect(page.get_by_role("link", name="7 days")).to_have_attribute("aria-current", "true")


def test_it_shows_its_numbers_without_javascript(opening: Opening) -> None:
    window = opening(script=False)
    fill(window.served)
    window.page.goto(window.base_url + "/usage?since=30d")
    row = window.page.get_by_role("row", name="mine/a-model-with-a-long-name-2026-11-30")
    expect(row).to_contain_text("9,876,536")
    expect(row).to_contain_text("72%")
    expect(window.page.get_by_role("row", name="mine/new")).to_contain_text("unknown price")
