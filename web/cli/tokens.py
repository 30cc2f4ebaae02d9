"""`habakkuk tokens`: what programs come with over HTTP."""

from __future__ import annotations

from collections.abc import Sequence

import click

from web.cli.terminal.opened import opened
from web.cli.terminal.output import ago, output_option, print_json, print_table

_SCOPES = ["chat", "read", "approve", "admin"]


@click.group("tokens")
def command() -> None:
    """Make, list and revoke API tokens."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(_SCOPES),
    help="What it may be used for; repeat for several.  [default: chat and read, as far as their"
    " role allows]",
)
@click.option("--user", metavar="NAME", help="Whose it is.  [default: the owner]")
def create(name: str, scopes: Sequence[str], user: str | None) -> None:
    """Make a token and print it alone: it cannot be shown again."""
    from habakkuk.accounts.types import (  # noqa: PLC0415 - not for --help
        DEFAULT_SCOPES,
        ROLE_SCOPES,
        Scope,
    )

    with opened() as container:
        holder = container.accounts.find(user)
        usual = [scope for scope in DEFAULT_SCOPES if scope in ROLE_SCOPES[holder.role]]
        wanted = [Scope(scope) for scope in dict.fromkeys(scopes)] or usual
        click.echo(container.accounts.create_token(name, wanted, holder))


@command.command("list")
@output_option
def list_tokens(output: str) -> None:
    """List the tokens without their secrets."""
    with opened() as container:
        tokens = container.accounts.list_tokens()
    if output == "json":
        print_json(
            tokens=[
                {
                    "id": token.id,
                    "name": token.name,
                    "user": token.user,
                    "scopes": list(token.scopes),
                    "created": token.created,
                    "last_used": token.last_used,
                    "revoked": token.revoked,
                }
                for token in tokens
            ]
        )
    elif not tokens:
        click.echo("There are no tokens; make one with `habakkuk tokens create NAME`.")
    else:
        rows = [
            (
                token.name,
                token.id,
                token.user,
                " ".join(token.scopes),
                ago(token.created),
                "never" if token.last_used is None else ago(token.last_used),
                "" if token.revoked is None else f"revoked {ago(token.revoked)}",
            )
            for token in tokens
        ]
        print_table(("NAME", "ID", "USER", "SCOPES", "MADE", "USED", ""), rows)


@command.command("revoke")
@click.argument("name_or_id")
def revoke(name_or_id: str) -> None:
    """End a token, by its name or id."""
    with opened() as container:
        count = container.accounts.revoke_token(name_or_id)
    click.echo(f"Revoked {count} {'token' if count == 1 else 'tokens'}.")
