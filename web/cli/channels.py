"""`habakkuk channels`: the accounts on chat platforms."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import output_option, print_json, print_table, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from habakkuk.channels.contract import Withheld
    from habakkuk.gateway.health import AccountHealth


@click.group("channels")
def command() -> None:
    """Look at the accounts on chat platforms, try them, and begin anew."""


@command.command("list")
@output_option
def list_channels(output: str) -> None:
    """Show every account: how it is, and when its platform was heard last."""
    with opened() as container:
        accounts = container.channel_health.all()
    if output == "json":
        print_json(channels=[_as_json(one) for one in accounts])
    elif accounts:
        heads = ("ACCOUNT", "CHANNEL", "STATE", "HEARD", "MAY WRITE")
        print_table(heads, [_cells(one) for one in accounts])
        for one in accounts:
            if one.reason:
                click.echo(f"{visible(one.name)}: {visible(one.reason)}")
            for line in _withheld(one):
                click.echo(f"{visible(one.name)}: {visible(line)}")
    else:
        click.echo("There are no accounts; docs/channels says how one is set up.")


@command.command("test")
@click.argument("name")
def try_one(name: str) -> None:
    """Ask a platform who the account is; nothing is sent to anybody."""
    from habakkuk.core.errors import NotFound  # noqa: PLC0415 - not for --help

    with opened() as container:
        line = container.channels.line(name)
        if line is None:
            known = ", ".join(container.channels.names) or "none"
            raise NotFound(f"there is no account {name!r}; the accounts are: {known}")
        click.echo(f"{visible(name)}: {visible(line.adapter.check())}")


@command.command("setup")
@click.argument("name")
def set_up(name: str) -> None:
    """Tell a platform what it has to know: the commands, and where to bring messages."""
    from habakkuk.core.errors import NotFound  # noqa: PLC0415 - not for --help
    from habakkuk.gateway.offers import offer, offered  # noqa: PLC0415 - not for --help

    with opened() as container:
        line = container.channels.line(name)
        if line is None:
            known = ", ".join(container.channels.names) or "none"
            raise NotFound(f"there is no account {name!r}; the accounts are: {known}")
        done = ["its list of commands"] if offer(container.database, line, again=True) else []
        public = container.settings.config.public_url
        brought = name not in container.channels.polled
        if brought and public and line.adapter.connect(f"{public.rstrip('/')}/channels/{name}"):
            done.append("where to bring messages")
        pasted = line.adapter.paste(offered())
    if done:
        click.echo(f"{visible(name)} was told {' and '.join(done)}.")
    elif pasted:
        click.echo(f"Paste this at {line.channel}, where docs/channels/{line.channel}.md says:")
        click.echo(pasted)
    elif brought and not public:
        click.echo("Set public_url, the address behind the proxy; then say it again.")
    else:
        page = f"docs/channels/{line.channel}.md"
        click.echo(f"There is nothing to tell by itself; {page} says what to click.")


@command.command("restart")
@click.argument("name")
def restart(name: str) -> None:
    """Have an account's poller begin anew, whatever it waits for; nothing is lost."""
    with opened() as container:
        container.channel_health.restart(name)
    click.echo(f"{visible(name)} begins anew within a few seconds; see: channels list")


def _cells(account: AccountHealth) -> tuple[str, ...]:
    heard = "" if account.heard is None else f"{account.heard:.0f} s ago"
    allowed = f"{account.allowed} by id" if account.allowed else "nobody by id"
    return account.name, account.channel, account.state.value, heard, allowed


def _withheld(account: AccountHealth) -> Iterator[str]:
    """Yield what is not read, a line each."""
    for one in account.withheld:
        since = _moment(one).astimezone().strftime("%Y-%m-%d %H:%M")
        yield f"{one.what} is not read since {since}: {one.why}; {one.advice}"
    if account.more:
        yield f"{account.more} more are not read"


def _moment(withheld: Withheld) -> datetime:
    return datetime.fromtimestamp(withheld.since, UTC)


def _as_json(account: AccountHealth) -> dict[str, Any]:
    return {
        "name": account.name,
        "channel": account.channel,
        "state": account.state.value,
        "reason": account.reason,
        "heard_s": account.heard,
        "allow_from": account.allowed,
        "withheld": [
            {"what": one.what, "since": _moment(one), "why": one.why, "advice": one.advice}
            for one in account.withheld
        ],
        "withheld_more": account.more,
    }
