"""The usage: what models used and cost, and what may still be spent today."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from habakkuk.accounts.types import Scope
from habakkuk.conversations.budgets import dollars, heading
from habakkuk.conversations.reports import Item, Report, cost_words, hit_share, span_of
from habakkuk.conversations.spend import WARN_AT
from habakkuk.core.errors import Invalid
from web.api.usage import visible_budgets
from web.guards import needs
from web.site import container, principal

page = Blueprint("usage_page", __name__, template_folder="templates")
_DEFAULT = "7d"
_SPANS = (("1d", "Today"), (_DEFAULT, "7 days"), ("30d", "30 days"), ("90d", "90 days"))


@page.get("/usage")
@needs(Scope.READ)
def index() -> str:
    """Show the time that the address asks for; one that asks for nonsense shows a week."""
    since = request.args.get("since", _DEFAULT)
    try:
        span = span_of(since)
    except Invalid:
        since, span = _DEFAULT, span_of(_DEFAULT)
    report = container().usage_reports.report(principal(), span)
    return render_template(
        "usage/index.html",
        since=since,
        spans=_SPANS,
        report=report,
        tables=_tables(report, everybody=principal().sees(None)),
        sentence=sentence(report, since),
        budgets=visible_budgets(principal()),
        renew=container().budgets.renew,
        cost=cost_words,
        share=hit_share,
        dollars=dollars,
        heading=heading,
        warn_at=WARN_AT,
    )


def sentence(report: Report, since: str) -> str:
    """Return in one sentence what was spent."""
    if not report.total.calls:
        return "No model was called in this time."
    today = report.days[0].spent
    now = "nothing today" if not today.calls else f"{cost_words(today)} today"
    if since == "1d":
        return f"{_capital(now)}."
    unit = {"h": "hours", "d": "days"}[since.strip()[-1]]
    return f"{_capital(now)}, {cost_words(report.total)} in the last {since.strip()[:-1]} {unit}."


def _tables(report: Report, *, everybody: bool) -> list[tuple[str, str, list[Item]]]:
    """Return (title, head, rows); a day without calls is not worth a row."""
    days = [item for item in report.days if item.spent.calls]
    tables = [
        ("By day", "Day", days),
        ("By model", "Model", list(report.models)),
        ("By agent", "Agent", list(report.agents)),
    ]
    return [*tables, ("By person", "Person", list(report.users))] if everybody else tables


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
