"""`habakkuk deliveries`: what went out to chat platforms, and what did not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import output_option, print_json, print_table

if TYPE_CHECKING:
    from habakkuk.delivery.reports import DeliveryReport


@click.group("deliveries")
def command() -> None:
    """Look at answers that did not reach their platform, or may have twice."""


@command.command("list")
@click.option("--all", "everything", is_flag=True, help="Also those that arrived.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 1000))
@output_option
def list_deliveries(everything: bool, limit: int, output: str) -> None:  # noqa: FBT001 - click passes it by name
    """Show what failed, is held, came too late or is uncertain, the latest first."""
    from habakkuk.delivery.reports import TROUBLED  # noqa: PLC0415 - not for --help
    from habakkuk.delivery.types import DeliveryState  # noqa: PLC0415 - not for --help

    states = list(DeliveryState) if everything else TROUBLED
    with opened() as container:
        found = container.deliveries.listed(states, limit=limit)
    if output == "json":
        print_json(deliveries=[_as_json(one) for one in found])
    elif found:
        print_table(("ID", "ACCOUNT", "CHAT", "STATE", "PARTS", "WHY"), [_cells(d) for d in found])
        click.echo("Send one again, unknown parts included, with: habakkuk jobs retry ID")
    else:
        click.echo("Everything arrived." if not everything else "Nothing went out yet.")


def _cells(delivery: DeliveryReport) -> tuple[str, ...]:
    doubt = f", {delivery.uncertain} maybe twice" if delivery.uncertain else ""
    unknown = f", {delivery.unknown} unknown" if delivery.unknown else ""
    parts = f"{delivery.sent} of {delivery.parts}{unknown}{doubt}"
    why = delivery.error or ""
    return delivery.id, delivery.account, delivery.chat, delivery.state.value, parts, why


def _as_json(delivery: DeliveryReport) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "account": delivery.account,
        "chat": delivery.chat,
        "state": delivery.state.value,
        "parts": delivery.parts,
        "sent": delivery.sent,
        "unknown": delivery.unknown,
        "uncertain": delivery.uncertain,
        "error": delivery.error,
        "created": delivery.created,
    }
