"""`habakkuk login-link`: let a browser in."""

from __future__ import annotations

import click

from web.cli.terminal.opened import opened


@click.command("login-link")
@click.option("--user", metavar="NAME", help="Whom it lets in.  [default: the owner]")
def command(user: str | None) -> None:
    """Print a link that signs a browser in, once, within ten minutes."""
    from habakkuk.ops.login import link_address  # noqa: PLC0415 - not for --help

    with opened() as container:
        secret = container.logins.make_link(container.accounts.find(user))
        click.echo(link_address(container.settings, secret))
