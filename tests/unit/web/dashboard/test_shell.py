"""How pages say times, and what no page may do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from flask import Flask

from web.dashboard.shell import POLICY, ago, exact, left

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (timedelta(seconds=59), "just now"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59), "59 minutes ago"),
        (timedelta(hours=1), "1 hour ago"),
        (timedelta(hours=23, minutes=59), "23 hours ago"),
        (timedelta(days=1), "2026-05-03"),
        (timedelta(seconds=-5), "just now"),
    ],
)
def test_a_moment_is_said_as_people_say_it(before: timedelta, words: str) -> None:
    assert ago(NOW - before, NOW) == words


def test_a_moment_that_never_was() -> None:
    assert ago(None) == "never"
    assert exact(None) == ""


def test_machines_get_the_moment_in_utc() -> None:
    there = NOW.astimezone(tz=None)
    assert exact(there) == "2026-05-04T12:00:00Z"


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (timedelta(seconds=-1), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=15), "15 min"),
        (timedelta(hours=2, minutes=5), "2 h 5 min"),
    ],
)
def test_time_left_is_said_shortly(ahead: timedelta, words: str) -> None:
    assert left(NOW + ahead, NOW) == words


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    directives = dict(part.split(" ", 1) for part in POLICY.split("; "))
    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "font-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }


def test_no_template_has_anything_inline() -> None:
    found = (ROOT / "web").rglob("*.html")
    templates = [path.read_text() for path in found if "node_modules" not in path.parts]
    assert len(templates) > 4
    for template in templates:
        assert " style=" not in template
        assert "|safe" not in template
        assert " onclick=" not in template


def test_no_module_writes_html_by_itself() -> None:
    """Nodes come from the sanitiser or from text: never from a string of HTML."""
    modules = {path.name: path.read_text() for path in (ROOT / "web/static/app").glob("*.js")}
    writing = re.compile(
        r"(inner|outer)HTML\s*\+?=[^=]|insertAdjacentHTML|document\.write|\beval\("
    )
    assert len(modules) > 20
    assert [name for name, source in modules.items() if writing.search(source)] == []


@pytest.mark.parametrize(
    ("accept", "type"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("", "application/json"),
    ],
)
def test_an_error_is_a_page_only_for_who_reads_pages(app: Flask, accept: str, type: str) -> None:
    answer = app.test_client().get("/", headers={"Accept": accept, "Host": "evil.example"})
    assert answer.status_code == 421
    assert answer.mimetype == type
    assert "does not answer for that host" in answer.text


def test_errors_of_the_api_are_never_pages(app: Flask) -> None:
    answer = app.test_client().get("/api/chat", headers={"Accept": "text/html"})
    assert answer.mimetype == "application/json"
