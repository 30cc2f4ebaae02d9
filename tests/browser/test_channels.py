"""The channels page in a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from habakkuk.conversations.types import Address, Target
from tests.browser.conftest import Opening
from tests.fakes.model_server import ModelServer
from tests.fakes.stack import Stack

_ACCOUNTS = """
channels:
  bot: {type: telegram, token_env: TOKEN}
"""


@pytest.fixture
def stack(
    home: Path,
    database_url: str,
    redis_url: str,
    model: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Stack]:
    monkeypatch.setenv("TOKEN", "1234567890:AAbbccddeeffgghhiijjkkllmmnnooppqq")
    made = Stack(home, database_url, redis_url, model, _ACCOUNTS)
    yield made
    made.close()


def test_a_stranger_is_let_in_and_taken_out_again(opening: Opening, stack: Stack) -> None:
    address = Address("telegram", "bot", "7")
    stack.container.pairings.knock(address, "7", "دانا 李", Target("bot", "7"))
    page = opening(390).go("/channels")
    expect(page.get_by_role("heading", name="Asking to come in")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Let in")).click()
    expect(page.get_by_role("heading", name="Let in by a code")).to_be_visible()
    assert stack.container.pairings.holds("telegram", "bot", "7")
    page.get_by_role("button", name=re.compile("^Take back")).click()
    expect(page.get_by_role("heading", name="Let in by a code")).to_have_count(0)
    assert not stack.container.pairings.holds("telegram", "bot", "7")


def test_without_script_it_shows_what_there_is(opening: Opening) -> None:
    window = opening(script=False)
    window.page.goto(window.base_url + "/channels")
    page = window.page
    expect(page.get_by_text("nobody listens")).to_be_visible()
    expect(page.get_by_text("Everything arrived.")).to_be_visible()
