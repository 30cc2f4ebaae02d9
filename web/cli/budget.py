"""`habakkuk budget`: what may be spent today."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from habakkuk.core.errors import Invalid
from web.cli.terminal.opened import opened
from web.cli.terminal.output import local_time, output_option, print_json, print_table

if TYPE_CHECKING:
    from habakkuk.conversations.store.spend import Standing

_ADVICE = "There are no budgets. Set some under `budgets:` in config.yaml (docs/usage.md)."


@click.group("budget")
def command() -> None:
    """Show the budgets for models, and raise one for today."""


@command.command("show")
@output_option
def show(output: str) -> None:
    """Show what may be spent today and what is."""
    with opened() as container:
        budgets = container.budgets
        caps, renew = budgets.standings(), budgets.renew
    if output == "json":
        print_json(renew=renew, budgets=[_as_json(cap) for cap in caps])
    elif not caps:
        click.echo(_ADVICE)
    else:
        heads = ("SCOPE", "BUDGET", "SPENT", "UNDER WAY", "RAISED BY")
        print_table(heads, [_row(cap) for cap in caps])
        click.echo(f"\nThey renew at {local_time(renew)}.")


@command.command("raise")
@click.argument("scope")
@click.argument("amount")
def raise_by(scope: str, amount: str) -> None:
    """Add AMOUNT US dollars to a budget for today.

    SCOPE is day (everybody together), user:NAME or agent:NAME, as `budget show` names them.
    """
    from habakkuk.conversations.budgets import dollars  # noqa: PLC0415 - not for --help

    try:
        more = Decimal(amount.removeprefix("$"))
    except InvalidOperation as error:
        raise Invalid(f"{amount!r} is no amount in US dollars, such as 2.50") from error
    with opened() as container:
        budgets = container.budgets
        cap, renew = budgets.raise_by(scope, more), budgets.renew
    click.echo(
        f"{scope}: {dollars(cap.cap)} until {local_time(renew)}, {dollars(cap.spent)} spent."
    )


def _row(cap: Standing) -> tuple[str, ...]:
    from habakkuk.conversations.budgets import dollars, label  # noqa: PLC0415 - not for --help

    return (
        label(cap),
        dollars(cap.cap),
        dollars(cap.spent),
        dollars(cap.held) if cap.held else "",
        dollars(cap.raised) if cap.raised else "",
    )


def _as_json(cap: Standing) -> dict[str, Any]:
    from habakkuk.conversations.budgets import label  # noqa: PLC0415 - not for --help

    return {
        "scope": label(cap),
        "budget": cap.cap,
        "spent": cap.spent,
        "under_way": cap.held,
        "raised": cap.raised,
    }
