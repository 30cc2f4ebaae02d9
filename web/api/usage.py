"""What models used and cost, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from flask import Response
from flask_openapi.blueprint import APIBlueprint
from flask_openapi.models.tag import Tag
from pydantic import BaseModel, Field

from habakkuk.accounts.types import Principal, Scope
from habakkuk.conversations.budgets import label
from habakkuk.conversations.reports import Item, Report, span_of
from habakkuk.conversations.store.reports import Spent
from habakkuk.conversations.store.spend import EVERYBODY, Standing
from web.answers import json_answer
from web.api.bodies import Amount, ErrorBody, Query
from web.guards import needs
from web.site import container, principal

api = APIBlueprint(
    "usage",
    __name__,
    url_prefix="/api",
    abp_tags=[Tag(name="usage")],
    abp_security=[{"token": []}],
    abp_responses={400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 503: ErrorBody},
)


class UsageQuery(Query):
    """How far back: hours or days, such as `12h` or `7d`; whole days include today."""

    since: str = Field(default="7d", max_length=8)


class SpentBody(BaseModel):
    """What calls used together. Tokens: `input` counts the cached ones too, `output` reasoning.

    `searches` is how often a provider searched the web for them.
    `cost` is in USD, as text so that nothing is rounded, null when no call has a known price;
    `unpriced` counts the calls that have none.
    """

    calls: int
    failed: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    searches: int
    cost: Amount | None
    unpriced: int


class UsageLine(SpentBody):
    """One line: a date, a provider/model, an agent or a person; empty for nobody."""

    name: str


class FallBody(BaseModel):
    """A model whose cache gives less than half of what it gave in the week before; 0 to 1."""

    model: str
    share: float
    before: float


class UsageBody(BaseModel):
    """What the owner's whole server, or anybody else's own chats, used; the newest day first."""

    since: datetime
    until: datetime
    total: SpentBody
    days: list[UsageLine]
    models: list[UsageLine]
    agents: list[UsageLine]
    users: list[UsageLine]
    falls: list[FallBody]

    @classmethod
    def of(cls, report: Report) -> UsageBody:
        """Return a report as clients see it."""
        return cls(
            since=report.since,
            until=report.until,
            total=SpentBody(**_sums(report.total)),
            days=_lines(report.days),
            models=_lines(report.models),
            agents=_lines(report.agents),
            users=_lines(report.users),
            falls=[
                FallBody(model=fall.model, share=fall.share, before=fall.before)
                for fall in report.falls
            ],
        )


class BudgetBody(BaseModel):
    """One budget of today, in USD as text; `budget` is with what an owner added (`raised`)."""

    scope: str
    budget: Amount
    spent: Amount
    under_way: Amount
    raised: Amount

    @classmethod
    def of(cls, cap: Standing) -> BudgetBody:
        """Return a budget as clients see it."""
        return cls(
            scope=label(cap),
            budget=cap.cap,
            spent=cap.spent,
            under_way=cap.held,
            raised=cap.raised,
        )


class BudgetsBody(BaseModel):
    """Today's budgets that the person may see, and when they begin again."""

    budgets: list[BudgetBody]
    renew: datetime


@api.get("/usage", responses={200: UsageBody})
@needs(Scope.READ)
def usage(query: UsageQuery) -> Response:
    """Sum up what models used and cost; for others than the owner, what they used themselves."""
    report = container().usage_reports.report(principal(), span_of(query.since))
    return json_answer(UsageBody.of(report))


@api.get("/budgets", responses={200: BudgetsBody})
@needs(Scope.READ)
def budgets() -> Response:
    """Return today's budgets: all for the owner, the server's and one's own for others."""
    found = [BudgetBody.of(cap) for cap in visible_budgets(principal())]
    return json_answer(BudgetsBody(budgets=found, renew=container().budgets.renew))


def visible_budgets(own: Principal) -> Sequence[Standing]:
    """Return the budgets that a person may see."""
    seen = {EVERYBODY, f"user:{own.user_id}"}
    caps = container().budgets.standings()
    return caps if own.sees(None) else [cap for cap in caps if cap.scope in seen]


def _lines(items: Sequence[Item]) -> list[UsageLine]:
    return [UsageLine(name=item.name, **_sums(item.spent)) for item in items]


def _sums(spent: Spent) -> dict[str, Any]:
    used = spent.usage
    return {
        "calls": spent.calls,
        "failed": spent.failed,
        "input": used.input,
        "output": used.output,
        "cache_read": used.cache_read,
        "cache_write": used.cache_write,
        "reasoning": used.reasoning,
        "searches": used.searches,
        "cost": spent.cost,
        "unpriced": spent.unpriced,
    }
