"""`habakkuk usage`: what models used and cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import opened, owner
from web.cli.terminal.output import output_option, print_json, print_table

if TYPE_CHECKING:
    from habakkuk.conversations.reports import Fall, Item, Report
    from habakkuk.conversations.store.reports import Spent

_KINDS = ["day", "model", "agent", "user"]


@click.command("usage")
@click.option("--by", type=click.Choice(_KINDS), default="day", show_default=True)
@click.option("--since", default="7d", show_default=True, help="How far back, such as 7d or 12h.")
@output_option
def command(by: str, since: str, output: str) -> None:
    """Show what models used and what it cost. Whole days include today."""
    from habakkuk.conversations.reports import span_of  # noqa: PLC0415 - not for --help

    span = span_of(since)
    with opened() as container:
        report = container.usage_reports.report(owner(container), span)
    if output == "json":
        print_json(**_as_json(report))
        return
    if not report.total.calls:
        click.echo(f"No model was called in the last {since}.")
        return
    lines = [_line(item.name or "–", item.spent) for item in report.by(by)]
    heads = (by.upper(), "CALLS", "FAILED", "READ", "CACHED", "WRITTEN", "COST")
    print_table(heads, [*lines, _line("total", report.total)])
    for fall in report.falls:
        click.echo(_warning(fall))


def _line(name: str, spent: Spent) -> tuple[str, ...]:
    from habakkuk.conversations.reports import cost_words, hit_share  # noqa: PLC0415 - as above

    share = hit_share(spent.usage)
    return (
        name,
        f"{spent.calls:,}",
        f"{spent.failed:,}" if spent.failed else "",
        f"{spent.usage.input:,}",
        "" if share is None else f"{share:.0%}",
        f"{spent.usage.output:,}",
        cost_words(spent) if spent.calls else "",
    )


def _warning(fall: Fall) -> str:
    return (
        f"\n{fall.model} read {fall.share:.0%} from its cache today, {fall.before:.0%} in the week"
        " before: prompts that change at their beginning cost more."
    )


def _as_json(report: Report) -> dict[str, Any]:
    return {
        "since": report.since,
        "until": report.until,
        "total": _spent(report.total),
        **{f"{kind}s": [_item(item) for item in report.by(kind)] for kind in _KINDS},
        "falls": [
            {"model": fall.model, "share": fall.share, "before": fall.before}
            for fall in report.falls
        ],
    }


def _item(item: Item) -> dict[str, Any]:
    return {"name": item.name, **_spent(item.spent)}


def _spent(spent: Spent) -> dict[str, Any]:
    return {
        "calls": spent.calls,
        "failed": spent.failed,
        "input": spent.usage.input,
        "output": spent.usage.output,
        "cache_read": spent.usage.cache_read,
        "cache_write": spent.usage.cache_write,
        "reasoning": spent.usage.reasoning,
        "searches": spent.usage.searches,
        "cost": spent.cost,
        "unpriced": spent.unpriced,
    }
